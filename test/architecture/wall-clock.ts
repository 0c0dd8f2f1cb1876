import { isShipped } from './paths.ts'
import type { Source } from './source.ts'

/** A wall-clock reading that is added, subtracted or compared. `=>` is not a comparison. */
const WALL_CLOCK_ARITHMETIC = /\bDate\.now\b|\bnow\(\)\s*[-+<>]|(?:[-+<]|(?<!=)>)=?\s*(?:\w+\.)*now\(\)/

/** Files and folders that may calculate with the wall clock, with the reason. Most calculate with a stored instant. */
const ALLOWED_FILES: ReadonlyMap<string, string> = new Map([
  ['packages/adapters/src/kafka/kafkajs/request-queue-patch.ts', 'kafkajs stores a wall-clock instant'],
  ['packages/adapters/src/lnd/channels/utxo-locks.ts', 'lnd expects the instant at which a lock expires'],
  ['packages/adapters/src/lnd/probe.ts', 'lnd lists payments since an instant'],
  ['packages/adapters/src/deterministic/', 'the time of the simulated world and of its databases'],
  ['packages/adapters/src/simnet/', 'the simulated network stores instants in its database'],
  ['packages/adapters/src/sqlite/bus/bus-retention.ts', 'the age of stored messages'],
  ['packages/adapters/src/system/', 'the clocks themselves'],
  ['packages/client/src/webhooks/verify-webhook.ts', 'a delivery contains the instant of its signature'],
  ['packages/cli/src/load/checks/post-run-data.ts', 'the market reports instants'],
  ['packages/adapters/src/opentelemetry/spans.ts', 'the instants of spans'],
  ['packages/runtime/src/observability/tip-gauges.ts', 'the age of a block by its own time'],
  ['packages/kernel/src/deadline.ts', 'other processes receive the instant'],
  ['packages/market/src/existing-channels.ts', 'a stored instant'],
  ['packages/audit/src/daily.ts', 'the instant of the last audit is stored'],
  ['packages/runtime/src/consumers/consume.ts', 'the age of a fact that another process stored'],
  ['packages/runtime/src/service-runtime.ts', 'the sender of a command sets the instant at which it expires'],
  ['packages/runtime/src/consumers/lag.ts', 'the age of a stored fact'],
  ['packages/runtime/src/processes/recovery.ts', 'the table contains the instant at which any replica last changed a stream'],
  ['packages/servers/src/lightning-btcd.ts', 'the age of a block by its own time'],
  ['services/cluster/src/launcher/launch.ts', 'the name of a restarted instance contains the time'],
  ['services/cluster/src/regtest/clock.ts', 'the clock itself'],
  ['services/gateway/src/account/authenticate.ts', 'a key contains the instant at which it expires'],
  ['services/gateway/src/account/erase.ts', 'the instant of a deletion is stored'],
  ['services/gateway/src/account/use-cases/', 'sessions, keys and challenges contain the instant at which they expire'],
  ['services/gateway/src/payments/keys/create-key.ts', 'a key contains the instant at which it expires'],
  ['services/payments/src/webhooks/send.ts', 'the time of the next attempt is stored'],
  ['services/matching/src/enrich.ts', 'a command contains the instant at which it was sent'],
  ['services/matching/src/service/liveness.ts', 'the last heartbeat is stored'],
  ['services/settlement/src/effects/send-payout.ts', 'an invoice contains the instant at which it expires'],
  ['services/settlement/src/enrich.ts', 'the age of a block by its own time'],
  ['services/standalone/src/audit.ts', 'the instant of an export'],
])

const FIX = 'calculates with the wall clock, which can jump; use monotonicMs(), or add the file and a reason to wall-clock.ts'

const findException = (path: string): string | undefined =>
  [...ALLOWED_FILES.keys()].find((allowedPath) => path.startsWith(allowedPath))

const withoutMonotonic = (line: string): string => line.replaceAll('performance.now()', 'monotonic')

const findWallClockLines = ({ path, text }: Source): readonly number[] =>
  isShipped(path)
    ? text.split('\n').flatMap((line, index) => (WALL_CLOCK_ARITHMETIC.test(withoutMonotonic(line)) ? [index + 1] : []))
    : []

/** Finds durations that are measured by the wall clock, which an operator or NTP can set while a process runs. */
export const findWallClockBreaches = (sources: readonly Source[]): readonly string[] =>
  sources
    .filter(({ path }) => findException(path) === undefined)
    .flatMap((source) => findWallClockLines(source).map((line) => `${source.path}:${line} ${FIX}`))

/** Finds exceptions whose file no longer calculates with the wall clock. */
export function findUnusedExceptions(sources: readonly Source[]): readonly string[] {
  const used = new Set(sources.filter((source) => findWallClockLines(source).length > 0).map(({ path }) => findException(path)))
  return [...ALLOWED_FILES.keys()].filter((allowedPath) => !used.has(allowedPath))
}
