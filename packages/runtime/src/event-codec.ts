import { hash } from 'node:crypto'
import type { Contract } from '@penstock/contracts/define.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import { aggregateIdOf, categoryOf, type NewEvent, type StoredEvent } from '@penstock/ports/event-store.ts'
import { canonical } from './canonical.ts'
import type { Event } from './service.ts'
import { TooNew, upcast } from './upcast.ts'

/** What every stored event says of its origin. `state` is there on the last event of an append only. */
export type Meta = {
  readonly v: number
  readonly command: string
  readonly at: number
  readonly correlation: string
  readonly trace: string
  readonly state?: string
  readonly chain: string
}

/** The chain hash that the first event of a stream builds on. */
export const CHAIN_START = '0'.repeat(64)

const CHAIN_LENGTH = `,"chain":"${CHAIN_START}"}`.length
const sha256 = (text: string): string => hash('sha256', text)

/** The hash of a state by one version of its projection, as the metadata keeps it: `<version>:<hash>`. */
export const stateHash = (version: number, projection: unknown): string => `${version}:${sha256(canonical(projection))}`

/**
 * The chain hash covers every stored byte of an event but itself, its place, and the hash before it. JSON texts have no
 * line breaks, so the parts cannot run into each other.
 */
function chainHash(previous: string, stream: string, revision: number, event: NewEvent, metaBeforeChain: string): string {
  return sha256(`${previous}\n${stream}\n${revision}\n${event.id}\n${event.type}\n${event.data}\n${metaBeforeChain}`)
}

/** Seals facts into events of a stream. @returns the events and the chain hash of the last */
export function seal(
  place: { readonly stream: string; readonly revision: number; readonly chain: string },
  facts: readonly { readonly id: string; readonly fact: Fact; readonly meta: Omit<Meta, 'chain' | 'v'> }[],
): { readonly events: readonly NewEvent[]; readonly chain: string } {
  let { chain, revision } = place
  const events = facts.map(({ id, fact, meta }) => {
    const open = JSON.stringify({ v: fact.v, ...meta }).slice(0, -1)
    const bare = { id, type: fact.type, data: JSON.stringify(fact.data), meta: '' }
    chain = chainHash(chain, place.stream, revision++, bare, open)
    return { ...bare, meta: `${open},"chain":"${chain}"}` }
  })
  return { events, chain }
}

/** @returns the chain hash that an event should carry after `previous` */
export const expectedChain = (previous: string, event: StoredEvent): string =>
  chainHash(previous, event.stream, event.revision, event, event.meta.slice(0, -CHAIN_LENGTH))

// Metadata and data were written by this module from typed values.
export const metaOf = (event: Pick<NewEvent, 'meta'>): Meta => JSON.parse(event.meta) as Meta

/**
 * Reads a stored fact in today's shape.
 * @throws TooNew where the contract does not know the type or the version
 */
export function factOf(contract: Contract, event: NewEvent, storedVersion: number): Fact {
  const known = contract.facts[event.type]
  if (!known) throw new TooNew(`${contract.category}'s fact ${event.type}`)
  const data = upcast(known, storedVersion, JSON.parse(event.data), event.type)
  return { type: event.type, v: known.v, data: data as object } // facts are objects by contract
}

/** A stored event as reactions and read models see it. */
export function eventOf(contract: Contract, stored: StoredEvent): Event {
  const meta = metaOf(stored)
  return {
    id: stored.id,
    category: categoryOf(stored.stream),
    aggregateId: aggregateIdOf(stored.stream),
    revision: stored.revision,
    position: stored.position,
    at: meta.at,
    commandId: meta.command,
    correlation: meta.correlation,
    ...(meta.state === undefined && { more: true as const }),
    fact: factOf(contract, stored, meta.v),
  }
}
