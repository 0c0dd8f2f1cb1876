import { operatorToken } from '@penstock/platforms/data-dir.ts'
import { neighbourhood } from '@penstock/platforms/neighbourhood.ts'
import { onceSignalled } from '@penstock/platforms/stopping.ts'
import { readConfig } from '@penstock/runtime/config.ts'
import { openLog } from '@penstock/runtime/log.ts'
import { demonstrate } from '@penstock/standalone/demo.ts'
import { sellers } from '@penstock/standalone/sellers.ts'

/**
 * Those who deal with the market of a cluster on the simulated network: the sellers' agents, and with `--demo` one buyer. They
 * know it by its public interface only, and the operators' for the grants.
 */
const config = readConfig(process.env)
const { dir, outside, clock, ids } = neighbourhood(config)
const log = openLog(config.logLevel)
const stop = new AbortController()
const network = outside.simulated
if (!network) throw new Error('There are no neighbours on a real network: run seller-agents beside your own nodes.')

const token = operatorToken(dir, config, ids)
const grantRails = async (pubkey: string): Promise<void> => {
  const response = await fetch(`${config.url}/operator/sellers/grant`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ pubkey, reason: 'Seller of the demonstration.' }),
  })
  if (!response.ok) throw new Error(`the grant was answered with HTTP ${response.status}: ${await response.text()}`)
}
const selling = sellers({ url: config.url, dir, network, clock, ids, log, grantRails }, stop.signal)
const say = (line: string): void => console.log(line)
const shown = process.argv.includes('--demo')
  ? demonstrate(config.url, network, clock, say, stop.signal).catch((error: unknown) => {
      if (!stop.signal.aborted) say(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
    })
  : Promise.resolve()

onceSignalled(async () => {
  stop.abort()
  await Promise.all([selling, shown])
  await outside.close()
})
