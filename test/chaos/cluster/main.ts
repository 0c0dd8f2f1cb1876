import { clusterSkipReason } from '../../support/cluster.ts'
import { runChaosCommand } from '../command.ts'
import { formatCounts } from '../counts.ts'
import { runClusterCampaign } from './campaign.ts'
import { countFaultKinds, findMissingClusterCoverage } from './fault-plan.ts'

/** `npm run proof -- faults-cluster --rounds 20 [--seed N]`: runs rounds of faults on a cluster. */
await runChaosCommand({
  script: 'faults-cluster',
  rounds: { standard: 2, max: 10_000 },
  skipReason: clusterSkipReason,
  campaign: (dataDir: string, seed: number, rounds: number) => runClusterCampaign(dataDir, seed, rounds),
  describeCoverage: ({ injected }) => formatCounts(countFaultKinds(injected)),
  findMissingCoverage: findMissingClusterCoverage,
})
