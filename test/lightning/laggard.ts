import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from '@penstock/servers/free-port.ts'
import { btcdNode } from '@penstock/servers/lightning-btcd.ts'
import { installLightning } from '@penstock/servers/lightning-install.ts'
import { scratch } from '../harness/product.ts'

export type Laggard = {
  /** For a market that takes its blocks from it. */
  readonly settings: Readonly<Record<string, string>>
  readonly height: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** A second btcd, which has a few blocks and hears of none that others make. */
export async function laggard(): Promise<Laggard> {
  const dir = join(scratch(), 'btcd')
  const own = await btcdNode((await installLightning()).btcd, dir, await freePort())
  await own.start()
  const { user, password, port, certFile } = own
  return {
    settings: {
      PENSTOCK_BITCOIND_URL: `https://${user}:${password}@localhost:${port}`,
      PENSTOCK_BITCOIND_CERT_FILE: certFile,
    },
    height: () => own.rpc('getblockcount'),
    async stop() {
      await own.kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
