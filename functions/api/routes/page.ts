import { answerFile } from '../answers.ts';
import { type PageFile, pageHtml, pageScript, pageStyle } from '../page-files.ts';
import type { Route } from '../route.ts';

/** The page is there even when the database is not: it is what says so. */
export const pageRoutes: Route[] = [serve('/', pageHtml), serve('/page.js', pageScript), serve('/page.css', pageStyle)];

function serve(path: string, file: PageFile): Route {
  return { method: 'GET', path, handle: (request) => answerFile(request, file) };
}
