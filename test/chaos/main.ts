import { runCampaign, STORE_NAMES } from './campaign.ts'
import { runChaosCommand } from './command.ts'
import { formatCounts } from './counts.ts'
import { findMissingChaosCoverage } from './coverage.ts'

/** `npm run proof -- faults --rounds 1000 [--seed N] [--store kurrentdb]`: kills the market, and with `kurrentdb` also its store. */
await runChaosCommand({
  script: 'faults',
  rounds: { standard: 8, max: 100_000, perFolder: 25 },
  storeNames: STORE_NAMES,
  campaign: runCampaign,
  describeCoverage: ({
    coverage: { openOrdersAtKills, failovers, reorged, openingsByBehaviour },
    settledWithoutPeerProof,
    storeFaults,
  }) =>
    `${storeFaults.length > 0 ? `store: ${storeFaults.join(', ')}; ` : ''}${openOrdersAtKills.length} kills with ${openOrdersAtKills.join(', ')} orders open, ${failovers} failovers, ${reorged} re-orged, ${settledWithoutPeerProof} settled by the chain alone, requests ${formatCounts(openingsByBehaviour)}`,
  findMissingCoverage: findMissingChaosCoverage,
})
