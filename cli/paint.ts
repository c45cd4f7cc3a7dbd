import { styleText } from 'node:util';

type Style = Parameters<typeof styleText>[0];

/** Colours where there is a terminal to show them; plain text in pipes, files and with NO_COLOR. */
const painted = (style: Style) => (text: string) => styleText(style, text, { stream: process.stdout });

export const paint = {
  bold: painted('bold'),
  dim: painted('dim'),
  red: painted('red'),
  green: painted('green'),
  yellow: painted('yellow'),
  alarm: painted(['bgRed', 'white', 'bold']),
};
