import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js'
import { bytesToHex, hexToBytes } from './hex.ts'

const { Point } = secp256k1
const { lift_x: evenPoint, pointToBytes, taggedHash } = schnorr.utils

/**
 * The output key (BIP 341) of two keys that only sign together (BIP 327: KeySort, KeyAgg), tweaked so that no script can
 * spend it (BIP 86).
 * @returns its x coordinate in hex
 * @throws Error if a key is not a compressed public key
 */
export function taprootOutputKey(keyA: string, keyB: string): string {
  const [first = '', second = ''] = [keyA.toLowerCase(), keyB.toLowerCase()].sort()
  const [one, other] = [hexToBytes(first), hexToBytes(second)]
  const list = taggedHash('KeyAgg list', one, other)
  const toWeighted = (key: Uint8Array) => Point.fromBytes(key).multiplyUnsafe(scalar(taggedHash('KeyAgg coefficient', list, key)))
  // The second distinct key of the list has the coefficient 1.
  const sum = toWeighted(one).add(first === second ? toWeighted(other) : Point.fromBytes(other))
  const internal = pointToBytes(sum)
  const tweak = Point.BASE.multiplyUnsafe(scalar(taggedHash('TapTweak', internal)))
  return bytesToHex(pointToBytes(evenPoint(BigInt(`0x${bytesToHex(internal)}`)).add(tweak)))
}

const scalar = (bytes: Uint8Array): bigint => Point.Fn.create(BigInt(`0x${bytesToHex(bytes)}`))
