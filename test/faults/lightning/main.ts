import { regtestMissing } from '../../harness/regtest.ts'
import { runCommand } from '../command.ts'
import { lightningCampaign } from './campaign.ts'
import { lacking, struckShown } from './struck.ts'

/** `npm run faults:lightning -- --rounds 20 [--seed N]`: a real network under blows. */
await runCommand({
  script: 'faults:lightning',
  rounds: { standard: 3, most: 10_000 },
  missing: regtestMissing,
  campaign: lightningCampaign,
  struck: ({ struck }) => struckShown(struck),
  lacking,
})
