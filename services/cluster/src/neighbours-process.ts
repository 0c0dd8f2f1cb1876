import { operatorToken } from '@penstock/platforms/operator-token.ts'
import { runNeighbour } from '@penstock/platforms/neighbour.ts'
import { demonstrate } from '@penstock/standalone/demo.ts'
import { grantRails } from '@penstock/standalone/grant-rails.ts'
import { sellers } from '@penstock/standalone/sellers.ts'

/**
 * Those who deal with the market of a cluster on the simulated network: the sellers' agents, and with `--demo` one buyer. They
 * know it by its public interface only, and the operators' for the grants.
 */
await runNeighbour('neighbours', async ({ config, dir, outside, clock, ids, log, signal }) => {
  const network = outside.simulated
  if (!network) throw new Error('there are no neighbours on a real network: run seller-agents beside your own nodes')
  const { url } = config
  const token = operatorToken(dir, config, ids)
  const grant = (pubkey: string) => grantRails({ url, token }, pubkey)
  const selling = sellers({ url, dir, network, clock, ids, log, grantRails: grant }, signal)
  const say = (line: string): void => console.log(line)
  const shown = process.argv.includes('--demo')
    ? demonstrate(url, network.control, clock, say, signal).catch((error: unknown) => {
        if (!signal.aborted) say(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
      })
    : Promise.resolve()
  await Promise.all([selling, shown])
})
