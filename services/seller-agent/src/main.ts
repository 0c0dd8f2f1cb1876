import { runNeighbour } from '@penstock/platforms/neighbour.ts'
import { sellFrom } from './process.ts'

// Beside a seller's own node, as its own process: `node services/seller-agent/src/main.ts --terms terms.json`.
await runNeighbour('seller-agent', ({ config, dir, outside: { lightning, chain }, clock, ids, log, signal }) =>
  sellFrom(process.argv.slice(2), { url: config.url, folder: dir.path, lightning, chain, clock, ids, log, signal }),
)
