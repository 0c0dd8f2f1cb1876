import { fixedRate } from '@penstock/adapters/rates/fixed.ts'
import { openSimnet, type Simnet } from '@penstock/adapters/simnet/simnet.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { Config } from '@penstock/runtime/config.ts'
import type { DataDir } from './data-dir.ts'

/** The outside world of a laptop: a simulated network that remembers, one labelled rate, and the market's own keys. */
export type Outside = {
  readonly simnet: Simnet
  readonly lightning: Lightning
  readonly chain: Chain
  readonly rates: readonly RateSource[]
  readonly keyring: Keyring
  /** The newest block that was seen; undefined until the first. */
  readonly height: () => number | undefined
  close(): Promise<void>
}

export function simulated(dir: DataDir, config: Config, clock: Clock): Outside {
  const simnet = openSimnet({ path: dir.simnet, blockSeconds: config.simBlockSeconds, clock })
  const chain = simnet.chain()
  const stop = new AbortController()
  let height: number | undefined
  const following = (async () => {
    for await (const tip of chain.tips(stop.signal)) height = tip.height
  })()
  return {
    simnet,
    lightning: simnet.lightning('market'),
    chain,
    rates: [fixedRate(BigInt(config.simCentsPerBtc), clock)],
    keyring: fileKeyring(dir.path, { network: 'regtest', environment: 'simulated' }),
    height: () => height,
    async close() {
      stop.abort()
      await following
      await simnet.close()
    },
  }
}
