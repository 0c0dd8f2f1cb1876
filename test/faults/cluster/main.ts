import { clusterMissing } from '../../harness/cluster.ts'
import { runCommand, shown } from '../command.ts'
import { clusterCampaign } from './campaign.ts'
import { countsOf, lacking } from './plan.ts'

/** `npm run faults:cluster -- --rounds 20 [--seed N]`: strikes a cluster again and again. */
await runCommand({
  script: 'faults:cluster',
  rounds: { standard: 2, most: 10_000 },
  missing: clusterMissing,
  campaign: (dataDir: string, seed: number, rounds: number) => clusterCampaign(dataDir, seed, rounds),
  struck: ({ dealt }) => shown(countsOf(dealt)),
  lacking,
})
