import { BEHAVIOURS } from '@penstock/adapters/simnet/nodes.ts'
import { FAULT_KINDS } from '@penstock/adapters/seeded/faults.ts'
import { STROKES, type StrokeName } from './cues.ts'
import { SERVICES } from './plan.ts'

/** What befalls processes, their servers and the chain beside the faults of single calls. */
const WORLD = [
  'append that met a conflict',
  'write on a full disk',
  'transaction of a dead process',
  'transaction that took too long',
  'message that waited for a slow consumer',
  'message that one of another key overtook',
  'process with pinned contracts',
  'append by a process with pinned contracts',
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
] as const
const WEATHER = ['behave', 'offline', 'keep probes', 'reorg', 'evict', 'close', 'dear blocks', 'mine'] as const
const DEEDS = [
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
const BUYERS = ['pay', 'pay twice', 'pay too much', 'pay at the last moment', 'leave', 'cancel', 'pay and cancel'] as const

/** Counted where it really happens, never where it was only planned. */
export type Occurrence =
  | (typeof WORLD)[number]
  | `both replicas at work: ${(typeof SERVICES)[number]}`
  | `weather: ${(typeof WEATHER)[number]}`
  | `asked to open: ${(typeof BEHAVIOURS)[number]}`
  | `by hand: ${(typeof DEEDS)[number]}`
  | `buyer: ${(typeof BUYERS)[number]}`
  | `stroke: ${StrokeName}`

/** Tells that something happened. */
export type Reached = (what: Occurrence) => void

/** By subject, as a report shows them: all that a whole run has to meet. */
export const OCCASIONS: Readonly<Record<string, readonly string[]>> = {
  'Faults of calls': FAULT_KINDS,
  'Servers, processes and blocks': WORLD,
  'Two processes of a service, one after the other': SERVICES.map((name) => `both replicas at work: ${name}`),
  'Weather over the network': WEATHER.map((what) => `weather: ${what}`),
  'Sellers that were asked to open, by how their nodes behaved': BEHAVIOURS.map((how) => `asked to open: ${how}`),
  'People by hand': [...BUYERS.map((then) => `buyer: ${then}`), ...DEEDS.map((does) => `by hand: ${does}`)],
  'Strokes at a wrong moment': Object.keys(STROKES).map((does) => `stroke: ${does}`),
}
