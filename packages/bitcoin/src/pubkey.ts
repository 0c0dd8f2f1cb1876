import { secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, hexToBytes, isHex } from './hex.ts'
import { isOnionName } from './onion.ts'

/** @returns whether the text is a compressed public key: 66 hex digits of a point on the curve */
export const isPubkey = (text: string): boolean => isHex(text, 33) && secp256k1.utils.isValidPublicKey(hexToBytes(text), true)

/** @returns the compressed public key in hex */
export const derivePubkey = (secretKey: Uint8Array): string => bytesToHex(secp256k1.getPublicKey(secretKey, true))

/** Key and address of a node. An IPv6 host keeps its brackets, so that `host:port` is a socket for every kind of host. */
export type ConnectionUri = { readonly pubkey: string; readonly host: string; readonly port: number }

/** Parses `<pubkey>@<host>:<port>`. @returns all parts in lower case; undefined for any other text */
export function parseConnectionUri(text: string): ConnectionUri | undefined {
  if (text.length > 66 + 1 + 253 + 1 + 5) return undefined
  const parts = /^([0-9a-f]{66})@(.+):([1-9]\d{0,4})$/.exec(text.toLowerCase())
  const [, pubkey, host, digits] = parts ?? []
  if (!pubkey || !host || !digits) return undefined
  const port = Number(digits)
  return isPubkey(pubkey) && isHost(host) && port <= 65_535 ? { pubkey, host, port } : undefined
}

export const formatSocket = ({ host, port }: { readonly host: string; readonly port: number }): string => `${host}:${port}`

function isHost(host: string): boolean {
  if (host.startsWith('[')) return host.endsWith(']') && isIpv6(host.slice(1, -1))
  if (host.endsWith('.onion')) return isOnionName(host)
  // A host that ends in a decimal or hexadecimal number is a mistyped address: resolvers read 0x7f000001 as 127.0.0.1.
  return isIpv4(host) || (isDnsName(host) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(host))
}

const isIpv4 = (host: string): boolean =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(host) && host.split('.').every((part) => Number(part) <= 255 && part === `${Number(part)}`)

const isDnsName = (host: string): boolean =>
  host.length <= 253 && host.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))

function isIpv6(host: string): boolean {
  const halves = host.split('::')
  if (halves.length > 2) return false
  const groups = halves.flatMap((half) => (half === '' ? [] : half.split(':')))
  const last = groups.at(-1)
  const dotted = last?.includes('.') ?? false
  // A dotted tail is only allowed at the end, where it counts as two groups.
  if (dotted && (!isIpv4(last ?? '') || host.endsWith('::'))) return false
  if (!(dotted ? groups.slice(0, -1) : groups).every((group) => /^[0-9a-f]{1,4}$/.test(group))) return false
  const count = groups.length + (dotted ? 1 : 0)
  return halves.length === 2 ? count < 8 : count === 8
}
