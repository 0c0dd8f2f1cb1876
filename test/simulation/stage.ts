import type { Random } from '@penstock/adapters/seeded/random.ts'
import type { Order, Placed } from '@penstock/order/state.ts'
import type { Settlement } from '@penstock/settlement/state.ts'
import type { Ledger } from './checks.ts'
import type { Cradle } from './processes.ts'
import { Idle } from './market.ts'
import type { World } from './world.ts'

export type Trader = { readonly key: string; readonly pubkey: string }
/** How a buyer reaches its order again, and what it pays with. */
export type Bought = { readonly key: string | null; readonly buyer: string; readonly invoice: string }

type Given = { readonly request: string; readonly orders: Set<string> }

/** Where the strokes of a plan fall: the world, whoever acts in it, and what has been told so far. */
export type Stage = {
  readonly world: World
  readonly cradle: Cradle
  readonly ledger: Ledger
  readonly draws: Random
  readonly sellers: ReadonlyMap<string, Trader>
  /** Orders by id, as their buyers know them. */
  readonly bought: Map<string, Bought>
  /** What sellers gave by hand, by payee and amount: each invoice with the orders that it was given for. */
  readonly invoices: Map<string, readonly Given[]>
}

/** The order that a stroke is about. */
export type Subject = { readonly id: string; readonly placed: Placed; readonly settlement: Settlement | undefined }

export function subjectOf({ ledger }: Stage, id: string): Subject | undefined {
  // Each category has the state that its own service folds.
  const order = ledger.state(`order-${id}`) as Order | undefined
  if (!order || order.status === 'NONE') return undefined
  return { id, placed: order, settlement: ledger.state(`settlement-${id}`) as Settlement | undefined }
}

/** The seller whose turn it is, or who had it `back` turns ago. @throws Idle where it is none of ours */
export function sellerOf(
  { sellers }: Stage,
  { placed }: Subject,
  back = 0,
): Trader & { readonly alias: string; readonly attempt: number } {
  const attempt = placed.attempts.at(-1 - back) ?? placed.attempts.at(-1)
  const pubkey = (attempt?.candidate ?? placed.terms.candidate).sellerPubkey
  for (const [alias, trader] of sellers) if (trader.pubkey === pubkey) return { alias, ...trader, attempt: attempt?.number ?? 0 }
  throw new Idle('a seller of nobody')
}

export function aliasOf({ world }: Stage, pubkey: string): string {
  const node = world.simnet.control.nodes().find((one) => one.pubkey === pubkey)
  if (!node) throw new Idle(`no node ${pubkey}`)
  return node.alias
}
