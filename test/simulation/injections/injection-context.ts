import type { Prng } from '@penstock/adapters/deterministic/prng.ts'
import type { Order, PlacedOrder } from '@penstock/order/state.ts'
import type { Settlement } from '@penstock/settlement/state.ts'
import type { FoldedLog } from '../invariants/folded-log.ts'
import type { ProcessHost } from '../world/process-host.ts'
import { NothingToDo } from '../world/gateway-access.ts'
import type { SimulatedWorld } from '../world/simulated-world.ts'

export type SellerAccount = { readonly key: string; readonly pubkey: string }
/** The buyer's data of an order: the session key for actions on it, the alias of the buyer's node, and the invoice to pay. */
export type BoughtOrder = { readonly key: string | null; readonly buyer: string; readonly invoice: string }

type SubmittedInvoice = { readonly request: string; readonly orders: Set<string> }

/** The context of a plan's injections: the simulated world, its processes, its facts so far, and its buyers and sellers. */
export type InjectionContext = {
  readonly world: SimulatedWorld
  readonly host: ProcessHost
  readonly log: FoldedLog
  readonly draws: Prng
  readonly sellers: ReadonlyMap<string, SellerAccount>
  /** By order id. */
  readonly boughtOrders: Map<string, BoughtOrder>
  /** Invoices that injections submitted for sellers, by payee and amount, each with its orders. */
  readonly invoices: Map<string, readonly SubmittedInvoice[]>
}

/** The order that an injection acts on. */
export type InjectionTarget = { readonly id: string; readonly order: PlacedOrder; readonly settlement: Settlement | undefined }

export function findTarget({ log }: InjectionContext, id: string): InjectionTarget | undefined {
  // The casts are safe because the log folds each category with its own service.
  const order = log.state(`order-${id}`) as Order | undefined
  if (!order || order.status === 'NONE') return undefined
  return { id, order, settlement: log.state(`settlement-${id}`) as Settlement | undefined }
}

/**
 * @param attemptsBack the number of attempts before the current attempt
 * @returns the seller of that attempt, or of the current attempt if the order has fewer @throws NothingToDo without such a seller
 */
export function findSellerOfOrder(
  { sellers }: InjectionContext,
  { order }: InjectionTarget,
  attemptsBack = 0,
): SellerAccount & { readonly alias: string; readonly attempt: number } {
  const attempt = order.attempts.at(-1 - attemptsBack) ?? order.attempts.at(-1)
  const pubkey = (attempt?.candidate ?? order.terms.candidate).sellerPubkey
  for (const [alias, account] of sellers)
    if (account.pubkey === pubkey) return { alias, ...account, attempt: attempt?.number ?? 0 }
  throw new NothingToDo('the plan has no such seller')
}

export function findAlias({ world }: InjectionContext, pubkey: string): string {
  const node = world.simnet.control.nodes().find((candidate) => candidate.pubkey === pubkey)
  if (!node) throw new NothingToDo(`no node ${pubkey}`)
  return node.alias
}
