import { runSideProcess } from '@penstock/platforms/side-process.ts'
import { runAgentProcess } from './process.ts'

const client = { name: 'seller-agent', macaroon: 'seller-agent' } as const

// Runs the agent of a seller's own node as a separate process: `node services/seller-agent/src/main.ts --terms terms.json`.
await runSideProcess(client, ({ config, dir, externalWorld: { lightning, chain }, clock, ids, log, signal }) =>
  runAgentProcess(process.argv.slice(2), { url: config.marketUrl, folder: dir.path, lightning, chain, clock, ids, log, signal }),
)
