import { type ParseArgsConfig, parseArgs } from 'node:util';
import packageDescription from '../package.json' with { type: 'json' };
import { WaybillError } from '../shared/errors.ts';
import { dev } from './dev.ts';

interface Command {
  summary: string;
  help: string;
  options: NonNullable<ParseArgsConfig['options']>;
  run(values: Record<string, string | boolean | undefined>, positionals: string[]): Promise<void>;
}

const commands: Record<string, Command> = { dev };

const HELP = `waybill ${packageDescription.version}: schedule jobs and orchestrate their dependencies in your own AWS account

Usage: waybill <command> [options]

Commands
${Object.entries(commands)
  .map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  .join('\n')}

  waybill <command> --help says more. waybill --version tells the version.
`;

/** Exit codes: 0 done, 1 it failed, 2 it was called wrongly. */
async function main([name, ...argv]: string[]): Promise<number> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return say(HELP);
  if (name === '--version' || name === '-v') return say(`${packageDescription.version}\n`);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) return refuse(`there is no command '${name}': known are ${Object.keys(commands).join(', ')}. See waybill --help`);
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: argv, allowPositionals: true, options: { ...command.options, help: { type: 'boolean', short: 'h' } } });
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : String(error)}. See waybill ${name} --help`);
  }
  if (parsed.values.help) return say(command.help);
  try {
    await command.run(parsed.values as Record<string, string | boolean | undefined>, parsed.positionals);
    return 0;
  } catch (error) {
    if (error instanceof WaybillError && error.code === 'usage') return refuse(error.message);
    console.error(error instanceof WaybillError || process.env.WAYBILL_DEBUG === undefined ? messageFor(error) : error);
    return 1;
  }
}

function messageFor(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function say(text: string): number {
  process.stdout.write(text);
  return 0;
}

function refuse(message: string): number {
  console.error(message);
  return 2;
}

process.exitCode = await main(process.argv.slice(2));
