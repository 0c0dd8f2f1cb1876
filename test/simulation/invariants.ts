import { Broken, type Ledger } from './checks.ts'
import { endsInTime } from './custody.ts'
import { incidentsHaveCauses } from './incidents.ts'
import { moneyAtAnyTime } from './money.ts'
import type { Performance } from './perform.ts'
import type { Cradle } from './processes.ts'
import { viewsAsTold } from './views.ts'
import { holdsInTime } from './watches.ts'
import type { World } from './world.ts'

/** What went wrong outside of every stream: reads of the real clock, and rejections that nobody heard. */
export type Mishaps = { readonly touched: readonly Error[]; readonly rejected: readonly unknown[] }

/** A look at the whole read models takes as long as a hundred steps. */
export const VIEWS_EVERY = 200
/** How often that was done, among what an outcome counts. */
export const LOOKS = 'look at the read models'
/** Asking the network whether it has changed is dearer than most steps. */
export const NETWORK_EVERY = 8

/**
 * What has to hold at any time, for after every step. Looks that are dear are taken less often: at money when a fact was
 * appended, or the network is seen to have changed; at holds and read models now and then.
 */
export function invariants(world: World, cradle: Cradle, ledger: Ledger, cues: Performance, mishaps: Mishaps): () => void {
  const { simnet, engine, diary, store } = world
  const { schedule } = engine
  const market = marketOf(world)
  const money = moneyAtAnyTime(simnet, market, ledger)
  const incidents = incidentsHaveCauses(world, ledger)
  const holds = holdsInTime(world, cradle, ledger)
  const ends = endsInTime(world, ledger, market)
  const views = dueLooks(viewsAsTold(world, ledger), engine.faults.count)
  let changes = -1n

  const hasNetworkChanged = (): boolean => {
    const now = simnet.rows<{ count: bigint }>('SELECT total_changes() AS count')[0]?.count ?? 0n
    const is = now !== changes
    changes = now
    return is
  }
  return () => {
    nothingStrange(world, mishaps, diary.parked)
    const isTold = store.memory.log.length > ledger.events.length
    if (isTold) {
      ledger.catchUp()
      cues.see()
      incidents()
    }
    if (isTold || (schedule.steps() % NETWORK_EVERY === 0 && hasNetworkChanged())) money()
    holds()
    ends()
    views(schedule.steps())
  }
}

/**
 * A look falls due every so many steps, and is taken at the first step at which it can be.
 * @param look whether it could be taken
 */
export function dueLooks(look: () => boolean, count: (name: string) => void): (steps: number) => void {
  let [dueAt, isDue] = [VIEWS_EVERY, false]
  return (steps) => {
    if (steps >= dueAt) {
      isDue = true
      dueAt = steps + VIEWS_EVERY
    }
    if (!isDue || !look()) return
    isDue = false
    count(LOOKS)
  }
}

function nothingStrange({ crashes, blunders }: World, { touched, rejected }: Mishaps, parked: readonly string[]): void {
  if (touched[0]) throw new Broken('only the seed decides', touched[0].stack ?? touched[0].message)
  if (rejected.length > 0) throw new Broken('no rejection goes unheard', stackOf(rejected[0]))
  if (crashes.length > 0) throw new Broken('no process ends by itself', stackOf(crashes[0]))
  if (blunders.length > 0) throw new Broken('nobody is answered with an error', stackOf(blunders[0]))
  if (parked[0] !== undefined) throw new Broken('nothing is parked', parked[0])
}

const stackOf = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error))

const marketOf = ({ simnet }: World): string => simnet.control.nodes().find(({ role }) => role === 'market')?.pubkey ?? ''
