import { ripemd160 } from '@noble/hashes/legacy.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, hexToBytes, sha256Hex } from './hex.ts'
import { taprootOutputKey } from './musig.ts'

export type ScriptKind = 'p2wsh' | 'p2tr' | 'p2wpkh' | 'p2pkh' | 'p2sh' | 'other'

const PATTERNS: readonly (readonly [ScriptKind, RegExp])[] = [
  ['p2wsh', /^0020[0-9a-f]{64}$/],
  ['p2tr', /^5120[0-9a-f]{64}$/],
  ['p2wpkh', /^0014[0-9a-f]{40}$/],
  ['p2pkh', /^76a914[0-9a-f]{40}88ac$/],
  ['p2sh', /^a914[0-9a-f]{40}87$/],
]

/** @param script an output script in hex */
export const scriptKind = (script: string): ScriptKind =>
  PATTERNS.find(([, pattern]) => pattern.test(script.toLowerCase()))?.[0] ?? 'other'

/** The output script of a channel (BOLT 3): P2WSH of the 2-of-2 of both funding keys, with sorted keys. */
export function fundingScript(keyA: string, keyB: string): string {
  const [first, second] = [keyA.toLowerCase(), keyB.toLowerCase()].sort()
  return `0020${sha256Hex(`5221${first}21${second}52ae`)}`
}

/**
 * The output script of a simple taproot channel (the BOLTs' extension of that name): P2TR of both aggregated funding keys.
 * @throws Error if a key is not a compressed public key
 */
export const taprootFundingScript = (keyA: string, keyB: string): string => `5120${taprootOutputKey(keyA, keyB)}`

/** The output script that pays to one key. */
export const walletScript = (pubkey: string): string => `0014${bytesToHex(ripemd160(sha256(hexToBytes(pubkey))))}`
