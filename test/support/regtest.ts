import { launchRegtest, type Regtest } from '@penstock/cluster/regtest/launch.ts'
import { readConfig } from '@penstock/config/config.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { explainMissingLightning } from '@penstock/servers/lightning-install.ts'
import { getChildEnvironment, createOperatorClient, type Product, FAST_SETTINGS } from './product.ts'

/** A market on regtest, with real lnd nodes and seller agents. The test process is the launcher. */
export type TestRegtest = Pick<Product, 'url' | 'dataDir' | 'operator'> &
  Regtest & {
    /** The output lines of all processes so far. */
    readonly lines: readonly string[]
  }

const START_TIMEOUT_MS = 900_000

/** A sentence that says why lnd cannot run on this machine; undefined if it can. */
export const regtestSkipReason = await explainMissingLightning()

export async function startRegtest(dataDir: string, env: Readonly<Record<string, string>> = {}): Promise<TestRegtest> {
  const { NODE_COMPILE_CACHE = '' } = getChildEnvironment()
  const settings = { ...FAST_SETTINGS, NODE_COMPILE_CACHE, ...env }
  const config = readConfig({ ...settings, PORT: `${await findFreePort()}`, PENSTOCK_DATA_DIR: dataDir })
  const lines: string[] = []
  const startAbort = new AbortController()
  const startTimer = setTimeout(() => startAbort.abort(new Error('the start took too long')), START_TIMEOUT_MS)
  const launched = await launchRegtest(config, { env: settings }, (line) => lines.push(line), startAbort.signal).catch(
    (error: unknown) => {
      throw new Error(`the network did not start: ${String(error)}\n${lines.slice(-40).join('\n')}`)
    },
  )
  clearTimeout(startTimer)
  return { ...launched, dataDir, lines, operator: createOperatorClient(launched.url, dataDir) }
}
