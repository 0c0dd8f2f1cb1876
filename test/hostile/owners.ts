import type { AccountFact } from '@penstock/contracts/accounts.ts'
import { contractOf } from '@penstock/contracts/all.ts'
import type { OfferFact } from '@penstock/contracts/matching.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { openStored } from '@penstock/platforms/stored.ts'
import { aggregateIdOf, categoryOf, type StoredEvent } from '@penstock/ports/event-store.ts'
import { eventOf } from '@penstock/runtime/event-codec.ts'

/** What belongs to somebody. `at`: when it came to be, in milliseconds since 1970. */
export type Belonging =
  | { readonly what: 'account'; readonly at: number }
  /** `sellers`: everybody who sells it or was to. */
  | {
      readonly what: 'order'
      readonly at: number
      readonly buyer: string
      readonly sellers: Set<string>
      readonly source: string
    }
  | { readonly what: 'offer'; readonly owner: string; readonly pubkey: string }
  | { readonly what: 'API key'; readonly owner: string }

/** Whose everything is, as the facts tell it: no answer's word is taken for that. */
export type Owners = {
  /** By the ids of accounts, orders, offers and API keys. */
  readonly belongings: ReadonlyMap<string, Belonging>
  /** The account that has connected a node, by the node's key. */
  readonly nodes: ReadonlyMap<string, string>
  /** Reads on. What a command made is in the facts before anybody is answered. */
  catchUp(): Promise<void>
  close(): Promise<void>
}

type Known = { readonly belongings: Map<string, Belonging>; readonly nodes: Map<string, string> }

const PAGE = 1000

/** @param dataDir of a market that runs */
export async function openOwners(dataDir: string): Promise<Owners> {
  const store = openStored(dataDir)
  const known: Known = { belongings: new Map(), nodes: new Map() }
  let position: StoredEvent['position'] | 'start' = 'start'
  const readOn = async (): Promise<void> => {
    for (;;) {
      const page = await store.readAll(position, PAGE)
      for (const event of page) note(known, event)
      const last = page.at(-1)
      if (!last) return
      position = last.position
    }
  }
  // One reads at a time, and whoever asks meanwhile is answered by a read that began after that.
  let turn = Promise.resolve()
  const catchUp = (): Promise<void> => (turn = turn.then(readOn))
  await catchUp()
  return { ...known, catchUp, close: () => store.close() }
}

function note(known: Known, stored: StoredEvent): void {
  const [category, id] = [categoryOf(stored.stream), aggregateIdOf(stored.stream)]
  if (category !== 'order' && category !== 'offer' && category !== 'account') return
  const { fact, at } = eventOf(contractOf(category), stored)
  // Each of its category.
  if (category === 'order') noteOrder(known, id, at, fact as OrderFact)
  if (category === 'offer') noteOffer(known, id, fact as OfferFact)
  if (category === 'account') noteAccount(known, id, at, fact as AccountFact)
}

function noteOrder({ belongings }: Known, id: string, at: number, { type, data }: OrderFact): void {
  if (type === 'OrderPlaced') {
    const { buyer, source, candidate } = data
    belongings.set(id, { what: 'order', at, buyer: buyer.accountId, sellers: new Set([candidate.sellerAccountId]), source })
  }
  const order = belongings.get(id)
  if (type === 'AttemptStarted' && order?.what === 'order') order.sellers.add(data.candidate.sellerAccountId)
}

function noteOffer({ belongings }: Known, id: string, { type, data }: OfferFact): void {
  if (type === 'OfferCreated') belongings.set(id, { what: 'offer', owner: data.accountId, pubkey: data.pubkey })
}

function noteAccount({ belongings, nodes }: Known, id: string, at: number, { type, data }: AccountFact): void {
  if (!belongings.has(id)) belongings.set(id, { what: 'account', at })
  if (type === 'ApiKeyCreated') belongings.set(data.keyId, { what: 'API key', owner: id })
  if (type === 'NodeConnected') nodes.set(data.pubkey, id)
}
