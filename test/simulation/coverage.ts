import { NODE_BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import { FAULT_KINDS } from '@penstock/adapters/deterministic/faults/fault-injector.ts'
import { INJECTIONS, type InjectionName } from './plan/triggers.ts'
import { type ServiceName, serviceNames } from '@penstock/standalone/registry.ts'

/** Occurrences in processes, their servers and the chain. Faults of calls are listed in `FAULT_KINDS`. */
const WORLD_OCCURRENCES = [
  'append that met a conflict',
  'write on a full disk',
  'transaction of a dead process',
  'transaction that took too long',
  'message that waited for a slow consumer',
  'message that one of another key overtook',
  'process that was rolled out',
  'process whose clock is off',
  'process killed as planned',
  'process that stood still as planned',
  're-org',
  're-org that took a funding out of its block',
  're-org that kept the transactions',
  'sold channel whose funding was spent elsewhere',
  'refund that was paid',
  'hold that was ended at its last height',
  'hold that its node ended',
  'idempotency key that was repeated',
] as const
const NETWORK_EVENT_KINDS = ['behave', 'offline', 'keep probes', 'reorg', 'evict', 'close', 'dear blocks', 'mine'] as const
const ACTION_NAMES = [
  'close an order',
  'disable an offer',
  'enable the offers',
  'grant rails',
  'revoke rails',
  'toggle',
  'new terms',
  'reject a sale',
  'decide for the seller',
  'decide for the buyer',
  'decide for nobody',
  'ask for a refund',
] as const
const BUYER_ACTIONS = ['pay', 'pay twice', 'pay too much', 'pay at the last moment', 'leave', 'cancel', 'pay and cancel'] as const

/** An event of a run that is counted when it happens, not when a plan contains it. */
export type Occurrence =
  | (typeof WORLD_OCCURRENCES)[number]
  | `both replicas at work: ${ServiceName}`
  | `weather: ${(typeof NETWORK_EVENT_KINDS)[number]}`
  | `asked to open: ${(typeof NODE_BEHAVIOURS)[number]}`
  | `by hand: ${(typeof ACTION_NAMES)[number]}`
  | `buyer: ${(typeof BUYER_ACTIONS)[number]}`
  | `stroke: ${InjectionName}`

export type CountOccurrence = (occurrence: Occurrence) => void

/** All occurrences that a full run has to cover, by their heading in the report. */
export const OCCURRENCES: Readonly<Record<string, readonly string[]>> = {
  'Faults of calls': FAULT_KINDS,
  'Servers, processes and blocks': WORLD_OCCURRENCES,
  'Two processes of a service, one after the other': serviceNames.map((name) => `both replicas at work: ${name}`),
  'Weather over the network': NETWORK_EVENT_KINDS.map((occurrence) => `weather: ${occurrence}`),
  'Sellers that were asked to open, by how their nodes behaved': NODE_BEHAVIOURS.map((how) => `asked to open: ${how}`),
  'People by hand': [...BUYER_ACTIONS.map((action) => `buyer: ${action}`), ...ACTION_NAMES.map((name) => `by hand: ${name}`)],
  'Strokes at a wrong moment': Object.keys(INJECTIONS).map((name) => `stroke: ${name}`),
}
