import { poisonGlobals } from '@penstock/adapters/seeded/poison.ts'
import { booksOf } from '../faults/books.ts'
import { orderFaults } from '../faults/orders.ts'
import { heldAtMarket, truthFrom } from '../faults/truth.ts'
import { unnamed, waitsOf } from '../faults/waiting.ts'
import type { Plan } from './plan.ts'
import { Broken, follow, type Ledger } from './checks.ts'
import type { Edges } from './edges.ts'
import { hasReadAll, looksAtTheEnd } from './ending.ts'
import { invariants } from './invariants.ts'
import { sellOnceMore } from './last-sale.ts'
import { seedLibraries, warmUp } from './libraries.ts'
import { openPayables } from './payables.ts'
import { type Performance, performance } from './perform.ts'
import { openCradle, type Starts } from './processes.ts'
import type { Sabotage } from './sabotage-tools.ts'
import { tell } from './story.ts'
import { closeWorld, openWorld, type World } from './world.ts'

export type Outcome = {
  readonly plan: Plan
  readonly broken: { readonly invariant: string; readonly message: string; readonly stack: string } | undefined
  readonly trace: string
  readonly steps: number
  readonly virtualMs: number
  readonly cpuMs: number
  readonly faults: Readonly<Record<string, number>>
  readonly edges: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
  readonly events: number
  /** The calls at which a process could have died. */
  readonly points: readonly string[]
  readonly recent: readonly string[]
  readonly diary: readonly string[]
}

/** Longer than anybody who may be waited for takes here. */
const WAITING_MS = 60_000
/** From one look for rest to the next, with blocks between them: as long as something is under way, and when only leases are. */
const UNHURRIED_MS = 2000
const HURRIED_MS = 400
/** From a new seller's account to its payout. A process may stand still for 40 s of it. */
const SOLD_WITHIN_MS = 240_000

/** One seed from its first step to its last. Nothing in it reads the real clock or real randomness. */
export async function runPlan(plan: Plan, starts: Starts, sabotage: Sabotage = (world) => world): Promise<Outcome> {
  const begun = process.cpuUsage()
  const edges: Edges = new Map()
  const world = sabotage(openWorld(plan))
  const ledger = follow(world.store.memory, edges)
  const startedAt = world.engine.schedule.now()
  warmUp(world.simnet)
  const touched: Error[] = []
  const restore = poisonGlobals((error) => void touched.push(error))
  const takeBack = seedLibraries(world.engine.schedule)
  let broken: Outcome['broken']
  let statuses: Readonly<Record<string, number>> = {}
  try {
    statuses = await live(world, starts, ledger, touched)
  } catch (error) {
    broken = {
      invariant: error instanceof Broken ? error.invariant : 'no crash',
      message: error instanceof Error ? error.message : String(error),
      stack: error instanceof Error ? (error.stack ?? '') : '',
    }
  } finally {
    takeBack()
    restore()
  }
  const { schedule, faults } = world.engine
  const outcome: Outcome = {
    plan,
    broken,
    trace: schedule.trace(),
    steps: schedule.steps(),
    virtualMs: schedule.now() - startedAt,
    cpuMs: cpuMs(begun),
    faults: faults.counts(),
    edges: Object.fromEntries([...edges].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    statuses,
    events: ledger.events.length,
    points: [...world.points].toSorted(),
    recent: schedule.recent(),
    diary: world.diary.recent(),
  }
  closeWorld(world)
  return outcome
}

const cpuMs = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since)
  return Math.round((user + system) / 1000)
}

async function live(
  world: World,
  starts: Starts,
  ledger: Ledger,
  touched: readonly Error[],
): Promise<Readonly<Record<string, number>>> {
  const before = marketMsat(world)
  const rejected: unknown[] = []
  const onRejection = (reason: unknown): void => void rejected.push(reason)
  process.on('unhandledRejection', onRejection)
  try {
    const cradle = openCradle(world, starts)
    const cues = performance()
    const afterStep = invariants(world, cradle, ledger, cues, { touched, rejected })
    const told = settled(tell(world, cradle, ledger, cues))
    await runTo(world, () => told.is() !== undefined, world.plan.busyMs + 120_000, afterStep, 'the people did not come to an end')
    told.check()
    const payables = openPayables(world, ledger)
    await comeToRest(world, ledger, cues, { afterStep, payables }, 'nothing hangs')
    cues.end()
    if (world.plan.isSoldOnceMore) {
      const sold = settled(sellOnceMore(world, cradle, ledger))
      await runTo(world, () => sold.is() !== undefined, SOLD_WITHIN_MS, afterStep, 'nobody can buy any more')
      sold.check()
    }
    await comeToRest(world, ledger, cues, { afterStep, payables }, 'leases are over')
    const statuses = await looksAtTheEnd(world, ledger, () => marketMsat(world) - before, afterStep)
    // What the last looks set off is heard of a moment later.
    await world.engine.schedule.run({ maxSteps: 0 })
    afterStep()
    return statuses
  } finally {
    process.off('unhandledRejection', onRejection)
  }
}

/** Whether a promise is settled, to be looked at between steps. */
function settled(promise: Promise<void>) {
  let state: 'done' | { readonly error: unknown } | undefined
  promise.then(
    () => void (state = 'done'),
    (error: unknown) => void (state = { error }),
  )
  return {
    is: () => state,
    check: () => {
      if (typeof state === 'object') throw state.error
    },
  }
}

/** @param otherwise what is wrong where it does not come to that in time */
async function runTo(
  world: World,
  until: () => boolean,
  withinMs: number,
  afterStep: () => void,
  otherwise: string,
): Promise<void> {
  const { schedule } = world.engine
  const end = await schedule.run({ until, untilMs: schedule.now() + withinMs, afterStep })
  if (end !== 'until') throw new Broken('liveness', `${otherwise}: not within ${withinMs} ms (${end})`)
}

/** Read models of the pinned release that today's does not go on with: its gateways are gone by then. */
const LEFT = ['gateway.orders.v1']

/**
 * No fault strikes any more: within a bounded time everything has to come to its end, or to wait for somebody who can be
 * named. A hold that nothing proves ends at its last height and a lease after its blocks, so blocks come faster now.
 */
async function comeToRest(
  world: World,
  ledger: Ledger,
  cues: Performance,
  { afterStep, payables }: { readonly afterStep: () => void; readonly payables: (height: number) => void },
  enough: 'nothing hangs' | 'leases are over',
): Promise<void> {
  const { schedule } = world.engine
  const begun = schedule.now()
  for (;;) {
    await schedule.run({ untilMs: schedule.now() + (enough === 'nothing hangs' ? UNHURRIED_MS : HURRIED_MS), afterStep })
    const truth = truthFrom((sql) => world.simnet.rows(sql))
    const waits = waitsOf(ledger.asking(), { at: schedule.now(), height: truth.height })
    const held = heldAtMarket(truth).map(({ payment_hash }) => `${payment_hash} hangs at the market`)
    const hanging = [...unnamed(waits), ...orderFaults(booksOf(ledger.events), waits), ...held]
    const isOver = cues.isOver() && hanging.length === 0 && world.bus.undelivered(LEFT) === 0
    const isDone = isOver && (await hasReadAll(world, ledger))
    const waited = schedule.now() - begun
    if (isDone && (enough === 'nothing hangs' || waits.length === 0 || waited > WAITING_MS)) return
    if (waited > world.plan.restWithinMs) throw new Broken('liveness', unrest(world, hanging))
    payables(truth.height)
    // Nothing else is waited for than that leases end.
    const isLeased = waits.length > 0 && hanging.length === 0
    world.simnet.control.mine(isLeased ? 15 : 5)
  }
}

function unrest({ bus }: World, hanging: readonly string[]): string {
  const [first] = hanging
  if (first) return `${first}; ${hanging.length} in all`
  return bus.undelivered(LEFT) > 0
    ? `${bus.undelivered(LEFT)} messages are not delivered`
    : 'the gateway has not read every fact that its read models are made of'
}

function marketMsat({ simnet }: World): bigint {
  const market = simnet.control.balances().nodes.find(({ alias }) => alias === 'market')
  return (market?.onChainMsat ?? 0n) + (market?.channelMsat ?? 0n)
}
