import { resolveOperatorToken } from '@penstock/credentials/operator-token.ts'
import { runSideProcess } from '@penstock/platforms/side-process.ts'
import { demonstrate } from '@penstock/standalone/demo.ts'
import { grantRails } from '@penstock/standalone/grant-rails.ts'
import { runSellers } from '@penstock/standalone/run-sellers.ts'

/**
 * Runs the sellers' agents of a cluster on the simulated network, and with `--demo` one buyer. They use only the market's public
 * API, except that the operator API admits the sellers to the rails cluster.
 */
await runSideProcess({ name: 'neighbours' }, async ({ config, dir, externalWorld, clock, ids, log, signal }) => {
  const network = externalWorld.simulated
  if (!network) throw new Error('there are no neighbours on a real network: run seller-agents beside your own nodes')
  const { marketUrl: url } = config
  const token = resolveOperatorToken(dir, config, ids)
  const grant = (pubkey: string) => grantRails({ url, token }, pubkey)
  const selling = runSellers({ url, dir, network, clock, ids, log, grantRails: grant }, signal)
  const say = (line: string): void => console.log(line)
  const demoDone = process.argv.includes('--demo')
    ? demonstrate(url, network.control, clock, say, signal).catch((error: unknown) => {
        if (!signal.aborted) say(`The demonstration failed: ${error instanceof Error ? error.message : String(error)}`)
      })
    : Promise.resolve()
  await Promise.all([selling, demoDone])
})
