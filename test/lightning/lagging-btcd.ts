import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { createBtcd } from '@penstock/servers/lightning-btcd.ts'
import { installLightning } from '@penstock/servers/lightning-install.ts'
import { makeTempFolder } from '../support/product.ts'

export type LaggingBtcd = {
  /** The settings of a market that reads its blocks from this btcd. */
  readonly settings: Readonly<Record<string, string>>
  readonly height: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** Starts a second btcd, which has few blocks and receives no blocks from other nodes. */
export async function startLaggingBtcd(): Promise<LaggingBtcd> {
  const dir = join(makeTempFolder(), 'btcd')
  const node = await createBtcd((await installLightning()).btcd, dir, await findFreePort())
  await node.start()
  const { user, password, port, certFile } = node
  return {
    settings: {
      PENSTOCK_BITCOIND_URL: `https://${user}:${password}@localhost:${port}`,
      PENSTOCK_BITCOIND_CERT_FILE: certFile,
    },
    height: () => node.rpc('getblockcount'),
    async stop() {
      await node.kill()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
