import { hash } from 'node:crypto'
import type { Contract } from '@penstock/contracts/define.ts'
import type { Fact } from '@penstock/kernel/message.ts'
import { aggregateIdOf, categoryOf } from '@penstock/kernel/stream-name.ts'
import type { NewEvent, StoredEvent } from '@penstock/ports/event-store.ts'
import { toCanonicalJson } from './canonical-json.ts'
import type { Event } from '../service.ts'
import { NewerVersionFault, upcast } from './upcast.ts'

/** The metadata of a stored event. `state`, the hash of the state, is on the last event of an append only. */
export type EventMeta = {
  readonly v: number
  readonly command: string
  readonly at: number
  readonly correlation: string
  readonly trace: string
  readonly state?: string
  readonly chain: string
}

/** The previous chain hash of the first event of a stream. */
export const CHAIN_START = '0'.repeat(64)

const CHAIN_LENGTH = `,"chain":"${CHAIN_START}"}`.length
const sha256 = (text: string): string => hash('sha256', text)

/** The hash of a state by one version of its projection, as the metadata stores it: `<version>:<hash>`. */
export const hashState = (version: number, projection: unknown): string => `${version}:${sha256(toCanonicalJson(projection))}`

/**
 * The chain hash covers every stored byte of an event except itself, and the stream, the revision and the previous hash.
 * JSON texts have no line breaks, so the hashed text is unambiguous.
 */
function computeChainHash(previous: string, stream: string, revision: number, event: NewEvent, metaBeforeChain: string): string {
  return sha256(`${previous}\n${stream}\n${revision}\n${event.id}\n${event.type}\n${event.data}\n${metaBeforeChain}`)
}

/** Seals facts into events of a stream. @returns the events and the chain hash of the last */
export function sealFacts(
  streamEnd: { readonly stream: string; readonly revision: number; readonly chain: string },
  facts: readonly { readonly id: string; readonly fact: Fact; readonly meta: Omit<EventMeta, 'chain' | 'v'> }[],
): { readonly events: readonly NewEvent[]; readonly chain: string } {
  let { chain, revision } = streamEnd
  const events = facts.map(({ id, fact, meta }) => {
    const open = JSON.stringify({ v: fact.v, ...meta }).slice(0, -1)
    const bare = { id, type: fact.type, data: JSON.stringify(fact.data), meta: '' }
    chain = computeChainHash(chain, streamEnd.stream, revision++, bare, open)
    return { ...bare, meta: `${open},"chain":"${chain}"}` }
  })
  return { events, chain }
}

/** @returns the chain hash that an event should have after `previous` */
export const computeExpectedChain = (previous: string, event: StoredEvent): string =>
  computeChainHash(previous, event.stream, event.revision, event, event.meta.slice(0, -CHAIN_LENGTH))

// Metadata and data were written by this module from typed values.
export const readMeta = (event: Pick<NewEvent, 'meta'>): EventMeta => JSON.parse(event.meta) as EventMeta

/**
 * Reads a stored fact in today's shape.
 * @throws NewerVersionFault if the contract does not know the type or the version
 */
export function readFact(contract: Contract, event: NewEvent, storedVersion: number): Fact {
  const known = contract.facts[event.type]
  if (!known) throw new NewerVersionFault(`${contract.category}'s fact ${event.type}`)
  const data = upcast(known, storedVersion, JSON.parse(event.data), event.type)
  return { type: event.type, v: known.v, data: data as object } // Facts are objects by contract.
}

/** Converts a stored event to the form that reactions and projections get. */
export function readEvent(contract: Contract, stored: StoredEvent): Event {
  const meta = readMeta(stored)
  return {
    id: stored.id,
    category: categoryOf(stored.stream),
    aggregateId: aggregateIdOf(stored.stream),
    revision: stored.revision,
    position: stored.position,
    at: meta.at,
    commandId: meta.command,
    correlation: meta.correlation,
    ...(meta.state === undefined && { hasMore: true as const }),
    fact: readFact(contract, stored, meta.v),
  }
}
