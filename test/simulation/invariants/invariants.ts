import { InvariantViolation, type FoldedLog } from './folded-log.ts'
import { createHtlcDeadlineCheck } from './htlc-deadlines.ts'
import { createIncidentCheck } from './incidents.ts'
import { createMoneyCheck } from './money.ts'
import type { TriggerRunner } from '../injections/trigger-runner.ts'
import type { ProcessHost } from '../world/process-host.ts'
import { createReadModelCheck } from './read-models.ts'
import { createHoldDeadlineCheck } from './hold-deadlines.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

/** Errors that no fact shows: reads of the real clock or real randomness, and unhandled rejections. */
export type UnexpectedErrors = { readonly nondeterminism: readonly Error[]; readonly rejections: readonly unknown[] }

/** The number of steps between two checks of all read models. One check takes as long as a hundred steps. */
export const VIEW_CHECK_STEPS = 200
/** The name of the counter of these checks in the outcome of a run. */
export const VIEW_CHECKS = 'look at the read models'
/** The number of steps between two checks for changes of the network. The query takes longer than most steps. */
export const NETWORK_CHECK_STEPS = 8

/**
 * Creates the function that checks the invariants after every step. Expensive checks run less often. Money is checked after a new
 * fact or a change of the network, and holds and read models at intervals.
 */
export function createInvariantChecks(
  world: SimulatedWorld,
  host: ProcessHost,
  log: FoldedLog,
  triggers: TriggerRunner,
  errors: UnexpectedErrors,
): () => void {
  const { simnet, engine, trace, store } = world
  const { schedule } = engine
  const marketPubkey = findMarketPubkey(world)
  const checkMoney = createMoneyCheck(simnet, marketPubkey, log)
  const checkIncidents = createIncidentCheck(world, log)
  const checkHolds = createHoldDeadlineCheck(world, host, log)
  const checkHtlcs = createHtlcDeadlineCheck(world, log, marketPubkey)
  const checkViews = createPeriodicCheck(createReadModelCheck(world, log), engine.faults.count)
  let changes = -1n

  const hasNetworkChanged = (): boolean => {
    const now = simnet.rows<{ count: bigint }>('SELECT total_changes() AS count')[0]?.count ?? 0n
    const hasChanged = now !== changes
    changes = now
    return hasChanged
  }
  return () => {
    checkUnexpectedErrors(world, errors, trace.parkedMessages)
    const hasNewFacts = store.memory.log.length > log.events.length
    if (hasNewFacts) {
      log.catchUp()
      triggers.processNewFacts()
      checkIncidents()
    }
    if (hasNewFacts || (schedule.steps() % NETWORK_CHECK_STEPS === 0 && hasNetworkChanged())) checkMoney()
    checkHolds()
    checkHtlcs()
    checkViews(schedule.steps())
  }
}

/**
 * Runs a check once per `VIEW_CHECK_STEPS` steps, at the first step at which it is possible.
 * @param check returns false if it was not possible at this step
 */
export function createPeriodicCheck(check: () => boolean, count: (name: string) => void): (steps: number) => void {
  let [dueAt, isDue] = [VIEW_CHECK_STEPS, false]
  return (steps) => {
    if (steps >= dueAt) {
      isDue = true
      dueAt = steps + VIEW_CHECK_STEPS
    }
    if (!isDue || !check()) return
    isDue = false
    count(VIEW_CHECKS)
  }
}

function checkUnexpectedErrors(
  { crashes, unexpectedErrors }: SimulatedWorld,
  { nondeterminism, rejections }: UnexpectedErrors,
  parkedMessages: readonly string[],
): void {
  if (nondeterminism[0])
    throw new InvariantViolation('runs are deterministic', nondeterminism[0].stack ?? nondeterminism[0].message)
  if (rejections.length > 0) throw new InvariantViolation('no unhandled rejection', formatStack(rejections[0]))
  if (crashes.length > 0) throw new InvariantViolation('no process ends by itself', formatStack(crashes[0]))
  if (unexpectedErrors.length > 0)
    throw new InvariantViolation('no internal error in an answer', formatStack(unexpectedErrors[0]))
  if (parkedMessages[0] !== undefined) throw new InvariantViolation('no message is parked', parkedMessages[0])
}

const formatStack = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const findMarketPubkey = ({ simnet }: SimulatedWorld): string =>
  simnet.control.nodes().find(({ role }) => role === 'market')?.pubkey ?? ''
