import { startBenchServer } from './bench-server.ts';
import { measureClaims } from './claim.ts';
import { describeClaims, describeCycles, describeRatios, describeRuns } from './describe-figures.ts';
import { measureBurst } from './measure-burst.ts';
import { measureCycles } from './measure-cycles.ts';
import { measureHops } from './measure-hops.ts';
import { measureRuns } from './measure-runs.ts';
import { plantManifests } from './plant-manifests.ts';
import { describeMachine, printReport } from './print-report.ts';

const FULL = {
  cycles: { registeredCounts: [1_000, 10_000, 100_000, 1_000_000], cycleCount: 15, mostForStandIn: 100_000, standInCount: 2 },
  burstCount: 100_000,
  claims: { rounds: 10 },
  runs: { runCount: 2_000, passCount: 3 },
  chainCount: 50,
};
const QUICK = {
  cycles: { registeredCounts: [1_000, 10_000, 100_000], cycleCount: 9, mostForStandIn: 10_000, standInCount: 1 },
  burstCount: 20_000,
  claims: { rounds: 3 },
  runs: { runCount: 500, passCount: 2 },
  chainCount: 15,
};

const [option, ...others] = process.argv.slice(2);
if (others.length || (option !== undefined && option !== '--quick')) {
  console.error(`'${process.argv.slice(2).join(' ')}' is not understood: the only option is --quick, which measures smaller sizes`);
  process.exit(2);
}
const scale = option ? QUICK : FULL;
const startedAt = performance.now();
const secondsSoFar = () => ((performance.now() - startedAt) / 1000).toFixed(0);
const say = (line: string) => console.log(`${secondsSoFar().padStart(4)} s  ${line}`);

const server = await startBenchServer();
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    isInterrupted = true;
    void server.stop().finally(() => process.exit(130));
  });
}
try {
  // First, on a server that has done nothing else: what it has cached and has yet to write is no part of the measurement.
  say(`queueing ${scale.burstCount.toLocaleString('en')} manifests that are due at once`);
  const burst = await measureBurst(server, scale.burstCount);
  const cycles = await measureCycles(server, scale.cycles, say);
  say('measuring claims');
  const claiming = await server.createDatabase('claims');
  const claims = await measureClaims(claiming.database, scale.claims);
  await claiming.drop();
  say(`measuring ${scale.runs.passCount} times ${scale.runs.runCount.toLocaleString('en')} runs in batches of 1 and of 10`);
  const running = await server.createDatabase('runs');
  await plantManifests(running.database, { count: 10_000 });
  const runs = await measureRuns(server, running, scale.runs);
  say(`measuring the hops of ${scale.chainCount} chains and as many plans`);
  const hops = await measureHops(running, scale.chainCount);
  const machine = await describeMachine(running.database);
  await running.drop();

  const figures = { cycles, burst, claims, runs, hops };
  printReport('Ratios', describeRatios(figures));
  printReport('Manager: one cycle, median', describeCycles(figures));
  printReport('Dispatcher: one claim, median', describeClaims(figures));
  printReport('Runs: admitted, started and recorded, median', describeRuns(figures));
  console.log(`\nMeasured in ${secondsSoFar()} s on ${machine}.`);
} catch (error) {
  // What fails after Ctrl-C fails because the server is gone.
  if (!isInterrupted) throw error;
} finally {
  await server.stop();
}
