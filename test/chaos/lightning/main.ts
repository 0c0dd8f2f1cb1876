import { regtestSkipReason } from '../../support/regtest.ts'
import { runChaosCommand } from '../command.ts'
import { runLightningCampaign } from './campaign.ts'
import { findMissingLightningCoverage, formatLightningCoverage } from './coverage.ts'

/** `npm run proof -- faults-lightning --rounds 20 [--seed N]`: runs rounds of faults with real lnd nodes on regtest. */
await runChaosCommand({
  script: 'faults-lightning',
  rounds: { standard: 3, max: 10_000 },
  skipReason: regtestSkipReason,
  campaign: runLightningCampaign,
  describeCoverage: ({ coverage }) => formatLightningCoverage(coverage),
  findMissingCoverage: findMissingLightningCoverage,
})
