import { derivePubkey } from '@penstock/bitcoin/pubkey.ts'
import { createHmac } from 'node:crypto'
import type { SimnetStore } from './store.ts'

export type SimNodeRole = 'market' | 'buyer' | 'seller' | 'spare'

/**
 * The behaviour of a node, which survives restarts. `slow`: an opening takes 4 s. `silent`: calls of the owner get no answer.
 * `never-open`: every opening fails. `wrong-size`: the channel has half the size. `wrong-peer`: the channel goes to another node.
 * `vanish`: the funding is accepted and never reaches a mempool. A node that opens a wrong channel reports the requested channel.
 */
export const NODE_BEHAVIOURS = ['ok', 'slow', 'silent', 'never-open', 'wrong-size', 'wrong-peer', 'vanish'] as const
export type NodeBehaviour = (typeof NODE_BEHAVIOURS)[number]

export type SimNodeRow = {
  readonly alias: string
  readonly role: SimNodeRole
  readonly pubkey: string
  /** The output script of the coins in the node's wallet. */
  readonly script: string
  readonly socket: string
  readonly behaviour: NodeBehaviour
  readonly online: bigint
}

const NODE_COLUMNS = 'alias, role, pubkey, script, socket, behaviour, online'

export const listAllNodes = (store: SimnetStore): SimNodeRow[] =>
  store.all<SimNodeRow>(`SELECT ${NODE_COLUMNS} FROM nodes ORDER BY position`)

export const findNode = (store: SimnetStore, pubkey: string): SimNodeRow | undefined =>
  store.get<SimNodeRow>(`SELECT ${NODE_COLUMNS} FROM nodes WHERE pubkey = ?`, pubkey)

/** @throws Error that lists the existing nodes */
export function requireNode(store: SimnetStore, alias: string): SimNodeRow {
  const node = store.get<SimNodeRow>(`SELECT ${NODE_COLUMNS} FROM nodes WHERE alias = ?`, alias)
  if (node) return node
  const known = listAllNodes(store).map((other) => other.alias)
  throw new Error(`there is no node called ${alias}; there are ${known.join(', ')}`)
}

const isOnline = (store: SimnetStore, pubkey: string): boolean => findNode(store, pubkey)?.online === 1n

/** Derives a key from the network's seed. The same purpose gives the same key after every restart. */
export function deriveKey(store: SimnetStore, purpose: string): Uint8Array {
  const seed = store.get<{ value: string }>("SELECT value FROM meta WHERE key = 'seed'")
  if (!seed) throw new Error('the network has no seed yet')
  return createHmac('sha256', Buffer.from(seed.value, 'hex')).update(purpose).digest()
}

export const secretKeyOf = (store: SimnetStore, alias: string): Uint8Array => deriveKey(store, `node/${alias}`)

export const deriveNodePubkey = (store: SimnetStore, purpose: string): string => derivePubkey(deriveKey(store, purpose))

/** Whether both nodes are online and one has connected to the other. */
export function areConnected(store: SimnetStore, one: string, other: string): boolean {
  const [a, b] = [one, other].sort()
  const row = store.get('SELECT 1 FROM peers WHERE a = ? AND b = ?', a ?? '', b ?? '')
  return row !== undefined && isOnline(store, one) && isOnline(store, other)
}

/** @returns false if no online node has this key and this socket */
export function connectNodes(store: SimnetStore, from: string, to: string, socket: string): boolean {
  if (areConnected(store, from, to)) return true
  const node = findNode(store, to)
  if (from === to || node?.online !== 1n || node.socket !== socket) return false
  rememberPeers(store, from, to)
  return true
}

export function rememberPeers(store: SimnetStore, one: string, other: string): void {
  store.run('INSERT OR IGNORE INTO peers VALUES (?, ?)', ...[one, other].sort())
}
