import type { Settlement } from '@penstock/settlement/state.ts'
import { Broken, type Ledger } from './checks.ts'
import { GUARDS, heightOf, LOOK_EVERY_MS, stateOf } from './watches.ts'
import type { World } from './world.ts'

/** From so many blocks before its end a payment is the guard's to end, whatever the facts say of it. */
const GUARD_BLOCKS = 24
/** What takes a look, a word and a call of the node, where nothing has troubled anybody for longer than one waits to try again. */
const PROMPT_MS = 2000
const LONGEST_PAUSE_MS = 5000
/** Who was troubled may have left it to others: they hear of it when its lease is over, and what fell behind is looked for. */
const AFTER_TROUBLE_MS = 25_000

type Hanging = { readonly payment_hash: string; readonly ends: bigint }

/**
 * What hangs at the market's own node, by the network's own tables: a payment that the facts say is to be taken or given
 * back, or whose last height has come, does not hang on. How it ends by itself at the node is never looked at: by then
 * whoever was not troubled had the time. Only the time counts in which nothing troubles any of those that could end it.
 */
export function endsInTime(world: World, ledger: Ledger, market: string): () => void {
  const { engine, simnet, troubles } = world
  const orders = new Map<string, string>()
  const dueSinceMs = new Map<string, number>()
  let [seen, before] = [0, 0]

  const isAsked = (order: string | undefined): boolean => order !== undefined && asksForItsEnd(stateOf(ledger, order))
  const look = (now: number, { payment_hash: hash, ends }: Hanging): void => {
    const order = orders.get(hash)
    const height = heightOf(simnet)
    if (!isAsked(order) && height < Number(ends) - GUARD_BLOCKS) return void dueSinceMs.delete(hash)
    const since = dueSinceMs.get(hash) ?? now
    dueSinceMs.set(hash, since)
    const calmSince = Math.max(...GUARDS.map((guard) => troubles.calmSinceMs(guard)))
    const isUntroubled = calmSince <= since - LONGEST_PAUSE_MS
    if (now - Math.max(since, calmSince) <= (isUntroubled ? PROMPT_MS : AFTER_TROUBLE_MS)) return
    const status = order === undefined ? 'no order' : `order ${order}, ${stateOf(ledger, order)?.hold.status}`
    throw new Broken(
      'what has to end ends',
      `${hash} (${status}) hangs at the market at height ${height}, ${now - since} ms after it was to end, and nothing troubles anybody`,
    )
  }
  return () => {
    for (const { category, aggregateId, fact } of ledger.events.slice(seen))
      if (category === 'settlement' && fact.type === 'HoldRequested')
        orders.set((fact.data as { readonly paymentHash: string }).paymentHash, aggregateId) // of its contract
    seen = ledger.events.length
    const now = engine.schedule.now()
    if (now - before < LOOK_EVERY_MS) return
    before = now
    const hanging = simnet.rows<Hanging>(hangingAt(market))
    for (const hash of dueSinceMs.keys()) if (!hanging.some(({ payment_hash }) => payment_hash === hash)) dueSinceMs.delete(hash)
    for (const one of hanging) look(now, one)
  }
}

/** Whole payments: parts whose others never come are no market's to end. */
const hangingAt = (node: string): string => `SELECT payment_hash, min(expiry_height) AS ends FROM htlcs
  WHERE state = 'held' AND is_last = 1 AND waits_since IS NULL AND receiver = '${node}' GROUP BY payment_hash`

const ENDING: ReadonlySet<string> = new Set(['settling', 'cancelling', 'cancelled'])
const asksForItsEnd = (state: Settlement | undefined): boolean => state !== undefined && ENDING.has(state.hold.status)
