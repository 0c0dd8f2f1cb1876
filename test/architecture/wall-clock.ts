import { isShipped } from './places.ts'
import type { Source } from './source.ts'

/** A reading of the wall clock that is added to, subtracted from or compared. `=>` compares nothing. */
const RECKONING = /\bDate\.now\b|\bnow\(\)\s*[-+<>]|(?:[-+<]|(?<!=)>)=?\s*(?:\w+\.)*now\(\)/

/** Files, or folders, that reckon with the wall clock because the other instant is a stored one, or somebody else's. */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  ['packages/adapters/src/kafka/mends.ts', 'kafkajs keeps the instant, by the wall clock'],
  ['packages/adapters/src/lnd/coin-locks.ts', 'lnd is told until when'],
  ['packages/adapters/src/lnd/probe.ts', 'lnd is asked for payments since an instant'],
  ['packages/adapters/src/seeded/', 'the time of the simulated world, and of its databases'],
  ['packages/adapters/src/simnet/', 'the network keeps instants in its own database'],
  ['packages/adapters/src/sqlite/bus-retention.ts', 'the age of stored messages'],
  ['packages/adapters/src/system/', 'the clocks themselves'],
  ['packages/cli/src/load/evidence.ts', 'instants that the market told'],
  ['packages/platforms/src/spans.ts', 'the instants of spans'],
  ['packages/platforms/src/tip-metrics.ts', 'the age of a block by its own time'],
  ['packages/ports/src/in-time.ts', 'tells other processes of a limit'],
  ['packages/ports/src/linked.ts', 'a stored instant'],
  ['packages/runtime/src/audit-daily.ts', 'the instant of the last audit is stored'],
  ['packages/runtime/src/consume.ts', 'the age of a fact that another process stored'],
  ['packages/runtime/src/handle.ts', 'the caller of a command told until when it counts'],
  ['packages/runtime/src/lag.ts', 'the age of a stored fact'],
  ['packages/runtime/src/sweep.ts', 'the table tells when a stream was touched, by any replica'],
  ['packages/servers/src/lightning-btcd.ts', 'the age of a block by its own time'],
  ['services/cluster/src/launcher/launch.ts', 'a name'],
  ['services/cluster/src/regtest/clock.ts', 'the clock itself'],
  ['services/gateway/src/callers.ts', 'a key tells when it expires'],
  ['services/gateway/src/operations/accounts.ts', 'a session tells when it expires'],
  ['services/gateway/src/operations/erase.ts', 'the instant of a deletion is stored'],
  ['services/gateway/src/operations/keys.ts', 'a key tells when it expires'],
  ['services/matching/src/service/liveness.ts', 'the last heartbeat is stored'],
  ['services/settlement/src/effects/pay.ts', 'an invoice tells when it expires'],
  ['services/settlement/src/enrich.ts', 'the age of a block by its own time'],
  ['services/standalone/src/audit.ts', 'the instant of an export'],
])

const MEND =
  'reckons with the wall clock, which jumps; measure a duration by monotonicMs(), or say in wall-clock.ts which stored instant it is'

const placeOf = (path: string): string | undefined => [...ALLOWED.keys()].find((place) => path.startsWith(place))

const withoutMonotonic = (line: string): string => line.replaceAll('performance.now()', 'monotonic')

const reckoningLines = ({ path, text }: Source): readonly number[] =>
  isShipped(path) ? text.split('\n').flatMap((line, index) => (RECKONING.test(withoutMonotonic(line)) ? [index + 1] : [])) : []

/** Durations inside one process are measured by the monotonic clock: nothing is fresh or stale because somebody set the time. */
export const wallClockBreaches = (sources: readonly Source[]): readonly string[] =>
  sources
    .filter(({ path }) => placeOf(path) === undefined)
    .flatMap((one) => reckoningLines(one).map((line) => `${one.path}:${line} ${MEND}`))

/** Places that need no exception any more. */
export function unusedExceptions(sources: readonly Source[]): readonly string[] {
  const used = new Set(sources.filter((one) => reckoningLines(one).length > 0).map(({ path }) => placeOf(path)))
  return [...ALLOWED.keys()].filter((place) => !used.has(place))
}
