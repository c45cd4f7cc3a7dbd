import { availableParallelism, cpus, loadavg } from 'node:os';
import type { Database } from '../../shared/db/database.ts';
import { sql } from '../../shared/db/sql.ts';

export interface ReportRow {
  what: string;
  measured: string;
  /** What the design asks for, if it does. */
  aim?: { text: string; isMet: boolean };
}

/** Whole numbers with separators, small ones with as many digits as mean something. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: value < 10 ? 1 : 0 });
}

export function printReport(title: string, rows: ReportRow[]): void {
  const widths = { what: longest(rows.map(({ what }) => what)), measured: longest(rows.map(({ measured }) => measured)) };
  console.log(`\n${title}`);
  for (const { what, measured, aim } of rows) {
    const verdict = aim ? `   aim ${aim.text}: ${aim.isMet ? 'met' : 'missed'}` : '';
    console.log(`  ${what.padEnd(widths.what)}   ${measured.padStart(widths.measured)}${verdict}`);
  }
}

/** On what the figures were measured, and how busy it was with other things: without this they say nothing. */
export async function describeMachine(database: Database): Promise<string> {
  const [server] = await database.query<{ version: string }>(sql`select current_setting('server_version') as version`);
  const load = loadavg().map((value) => value.toFixed(1));
  return [
    `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'})`,
    `PostgreSQL ${server!.version}, durable`,
    `Node.js ${process.version}`,
    `load ${load.join(' ')}`,
  ].join(', ');
}

function longest(texts: string[]): number {
  return Math.max(...texts.map(({ length }) => length));
}
