import { pubkeyOf } from '@penstock/bitcoin/pubkey.ts'
import { createHmac } from 'node:crypto'
import type { Net } from './store.ts'

export type Role = 'market' | 'buyer' | 'seller' | 'spare'

/**
 * How a node behaves; it stays so through restarts. `slow`: an opening takes 4 s. `silent`: its owner's calls are not
 * answered. `never-open`: every opening fails. `wrong-size`: half the value. `wrong-peer`: the channel goes to another
 * node. `vanish`: the funding is accepted and never reaches a mempool. A lying node lists what it was asked for.
 */
export const BEHAVIOURS = ['ok', 'slow', 'silent', 'never-open', 'wrong-size', 'wrong-peer', 'vanish'] as const
export type Behaviour = (typeof BEHAVIOURS)[number]

export type Node = {
  readonly alias: string
  readonly role: Role
  readonly pubkey: string
  /** The output script that its wallet's coins have. */
  readonly script: string
  readonly socket: string
  readonly behaviour: Behaviour
  readonly online: bigint
}

const COLUMNS = 'alias, role, pubkey, script, socket, behaviour, online'

export const allNodes = (net: Net): Node[] => net.all<Node>(`SELECT ${COLUMNS} FROM nodes ORDER BY position`)

export const findNode = (net: Net, pubkey: string): Node | undefined =>
  net.get<Node>(`SELECT ${COLUMNS} FROM nodes WHERE pubkey = ?`, pubkey)

/** @throws Error that names the nodes there are */
export function nodeCalled(net: Net, alias: string): Node {
  const node = net.get<Node>(`SELECT ${COLUMNS} FROM nodes WHERE alias = ?`, alias)
  if (node) return node
  const known = allNodes(net).map((other) => other.alias)
  throw new Error(`there is no node called ${alias}; there are ${known.join(', ')}`)
}

const isOnline = (net: Net, pubkey: string): boolean => findNode(net, pubkey)?.online === 1n

/** A key of the network's own seed: the same purpose gives the same key after every restart. */
export function deriveKey(net: Net, purpose: string): Uint8Array {
  const seed = net.get<{ value: string }>("SELECT value FROM meta WHERE key = 'seed'")
  if (!seed) throw new Error('the network has no seed yet')
  return createHmac('sha256', Buffer.from(seed.value, 'hex')).update(purpose).digest()
}

export const secretKeyOf = (net: Net, alias: string): Uint8Array => deriveKey(net, `node/${alias}`)

export const derivedPubkey = (net: Net, purpose: string): string => pubkeyOf(deriveKey(net, purpose))

/** Whether both are online and one has connected to the other. */
export function areConnected(net: Net, one: string, other: string): boolean {
  const [a, b] = [one, other].sort()
  const row = net.get('SELECT 1 FROM peers WHERE a = ? AND b = ?', a ?? '', b ?? '')
  return row !== undefined && isOnline(net, one) && isOnline(net, other)
}

/** @returns false where nobody answers at the socket or its key is another */
export function connectNodes(net: Net, from: string, to: string, socket: string): boolean {
  if (areConnected(net, from, to)) return true
  const node = findNode(net, to)
  if (from === to || node?.online !== 1n || node.socket !== socket) return false
  rememberPeers(net, from, to)
  return true
}

export function rememberPeers(net: Net, one: string, other: string): void {
  net.run('INSERT OR IGNORE INTO peers VALUES (?, ?)', ...[one, other].sort())
}
