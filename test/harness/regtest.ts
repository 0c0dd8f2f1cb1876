import { launchRegtest, type Regtest } from '@penstock/cluster/regtest/launch.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { lightningMissing } from '@penstock/servers/lightning-install.ts'
import { machine, operatorOf, type Product, QUICK } from './product.ts'

/** The market on a real Lightning network: the launcher is this process, nodes, market and agents are real ones. */
export type TestRegtest = Pick<Product, 'url' | 'dataDir' | 'operator'> &
  Regtest & {
    /** Every line that the launcher told. */
    readonly lines: readonly string[]
  }

const READY_WITHIN_MS = 900_000

/** Why no lnd can run here, in a sentence; undefined where one can. */
export const regtestMissing = await lightningMissing()

export async function startRegtest(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<TestRegtest> {
  const { NODE_COMPILE_CACHE = '' } = machine()
  const settings = { ...QUICK, NODE_COMPILE_CACHE, ...env }
  const config = readConfig({ ...settings, PORT: `${await freePort()}`, PENSTOCK_DATA_DIR: dataDir })
  const lines: string[] = []
  const over = new AbortController()
  const late = setTimeout(() => over.abort(new Error('it took too long')), READY_WITHIN_MS)
  const own = await launchRegtest(config, { env: settings }, (line) => lines.push(line), over.signal).catch((error: unknown) => {
    throw new Error(`the network did not start: ${String(error)}\n${lines.slice(-40).join('\n')}`)
  })
  clearTimeout(late)
  return { ...own, dataDir, lines, operator: operatorOf(own.url, dataDir) }
}
