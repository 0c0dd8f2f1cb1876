import type { AccountFact } from '@penstock/contracts/accounts.ts'
import { contractOf } from '@penstock/contracts/contracts.ts'
import type { OfferFact } from '@penstock/contracts/matching.ts'
import type { OrderFact } from '@penstock/contracts/order.ts'
import { openLocalStore } from '@penstock/platforms/open-store.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { StoredEvent } from '@penstock/ports/event-store.ts'
import { readEvent } from '@penstock/runtime/commands/event-codec.ts'

/** An object with an owner. `at` is the time of its creation, in milliseconds since 1970. */
export type OwnedObject =
  | { readonly kind: 'account'; readonly at: number }
  /** `sellers` are the accounts of the sellers in all attempts. */
  | {
      readonly kind: 'order'
      readonly at: number
      readonly buyer: string
      readonly sellers: Set<string>
      readonly source: string
    }
  | { readonly kind: 'offer'; readonly owner: string; readonly pubkey: string }
  | { readonly kind: 'API key'; readonly owner: string }

/** The owners of all objects. They are read from the facts, so a wrong answer cannot falsify them. */
export type Owners = {
  /** By the ids of accounts, orders, offers and API keys. */
  readonly ownedObjects: ReadonlyMap<string, OwnedObject>
  /** The id of the account that connected a node, by the node's key. */
  readonly nodes: ReadonlyMap<string, string>
  /** Reads the new facts. The facts of a command are in the log before its caller gets an answer. */
  catchUp(): Promise<void>
  close(): Promise<void>
}

type OwnerMaps = { readonly ownedObjects: Map<string, OwnedObject>; readonly nodes: Map<string, string> }

const PAGE_SIZE = 1000

/** @param dataDir the data folder of a running market */
export async function createOwners(dataDir: string): Promise<Owners> {
  const store = openLocalStore(dataDir)
  const maps: OwnerMaps = { ownedObjects: new Map(), nodes: new Map() }
  let position: StoredEvent['position'] | 'start' = 'start'
  const readNewFacts = async (): Promise<void> => {
    for (;;) {
      const page = await store.readAll(position, PAGE_SIZE)
      for (const event of page) applyFact(maps, event)
      const last = page.at(-1)
      if (!last) return
      position = last.position
    }
  }
  // Only one read runs at a time. A call during a read waits for a read that starts later.
  let lastRead = Promise.resolve()
  const catchUp = (): Promise<void> => (lastRead = lastRead.then(readNewFacts))
  await catchUp()
  return { ...maps, catchUp, close: () => store.close() }
}

function applyFact(maps: OwnerMaps, stored: StoredEvent): void {
  const [category, id] = [categoryOf(stored.stream), aggregateIdOf(stored.stream)]
  if (category !== 'order' && category !== 'offer' && category !== 'account') return
  const { fact, at } = readEvent(contractOf(category), stored)
  // The category determines the type.
  if (category === 'order') applyOrderFact(maps, id, at, fact as OrderFact)
  if (category === 'offer') applyOfferFact(maps, id, fact as OfferFact)
  if (category === 'account') applyAccountFact(maps, id, at, fact as AccountFact)
}

function applyOrderFact({ ownedObjects }: OwnerMaps, id: string, at: number, { type, data }: OrderFact): void {
  if (type === 'OrderPlaced') {
    const { buyer, source, candidate } = data
    ownedObjects.set(id, { kind: 'order', at, buyer: buyer.accountId, sellers: new Set([candidate.sellerAccountId]), source })
  }
  const order = ownedObjects.get(id)
  if (type === 'AttemptStarted' && order?.kind === 'order') order.sellers.add(data.candidate.sellerAccountId)
}

function applyOfferFact({ ownedObjects }: OwnerMaps, id: string, { type, data }: OfferFact): void {
  if (type === 'OfferCreated') ownedObjects.set(id, { kind: 'offer', owner: data.accountId, pubkey: data.pubkey })
}

function applyAccountFact({ ownedObjects, nodes }: OwnerMaps, id: string, at: number, { type, data }: AccountFact): void {
  if (!ownedObjects.has(id)) ownedObjects.set(id, { kind: 'account', at })
  if (type === 'ApiKeyCreated') ownedObjects.set(data.keyId, { kind: 'API key', owner: id })
  if (type === 'NodeConnected') nodes.set(data.pubkey, id)
}
