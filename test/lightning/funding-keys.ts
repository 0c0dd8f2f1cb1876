import { fundingScript, scriptKind, taprootFundingScript } from '@penstock/bitcoin/script.ts'
import type { LndNode } from '@penstock/servers/lightning-lnd.ts'

/** Where lnd's keys for 2-of-2 outputs come from (its keychain's family of that name). */
const MULTISIG_FAMILY = 0
const CHANNELS = 20

type DeriveKey = (
  request: { key_family: number; key_index: number },
  done: (error: object | null, key: { raw_key_bytes: Buffer }) => void,
) => void

/** Both nodes' own word on which of their keys an output is for: what only they together can tell. */
export async function fundingKeysOf(a: LndNode, b: LndNode, script: string): Promise<readonly [string, string]> {
  const [ours, theirs] = await Promise.all([keysOf(a), keysOf(b)])
  const pairs = ours.flatMap((one) => theirs.map((other) => [one, other] as const))
  const scriptOf = scriptKind(script) === 'p2tr' ? taprootFundingScript : fundingScript
  const found = pairs.find((keys) => scriptOf(...keys) === script)
  if (!found) throw new Error(`no two keys of ${a.alias} and ${b.alias} make ${script}`)
  return found
}

const keysOf = (node: LndNode): Promise<readonly string[]> =>
  Promise.all(Array.from({ length: CHANNELS }, (_, index) => keyOf(node, index)))

function keyOf({ lnd }: LndNode, key_index: number): Promise<string> {
  // The package leaves lnd's own calls untyped (walletkit.proto: DeriveKey).
  const wallet = lnd.wallet as { deriveKey: DeriveKey }
  return new Promise((resolve, reject) =>
    wallet.deriveKey({ key_family: MULTISIG_FAMILY, key_index }, (error, key) =>
      error ? reject(new Error(JSON.stringify(error))) : resolve(key.raw_key_bytes.toString('hex')),
    ),
  )
}
