import { MIN_REPLICA_RATIO, type ReplicaScaling } from './replicas.ts'

export const REPLICAS_HEADING = '## Two replicas beside one'

const ratioOf = ({ one, two }: ReplicaScaling): number => two / one

export const listMissedReplicaGoals = (scaling: ReplicaScaling): readonly string[] =>
  ratioOf(scaling) >= MIN_REPLICA_RATIO
    ? []
    : [`sales per second with two replicas beside one: ${ratioOf(scaling).toFixed(2)}, wanted ${MIN_REPLICA_RATIO}`]

/** Renders one part of the page. `--replicas` replaces only this part, so the part has its own date. */
export function renderReplicas(scaling: ReplicaScaling, now = new Date()): string {
  const { service, coreShare, one, two } = scaling
  const verdict = listMissedReplicaGoals(scaling).length === 0 ? 'held' : 'missed'
  return [
    REPLICAS_HEADING,
    `Measured on ${now.toISOString().slice(0, 10)}; \`npm run bench:cluster -- --replicas --write\` measures only this part. Each replica of the service \`${service}\` is held to ${coreShare} of a core, so that this service limits the sales. The sales are counted from the 30th to the 90th second of a load with 24 unfinished orders.`,
    [
      '| | target | measured | |',
      '|---|---:|---:|---|',
      `| sales per second with one replica of each service | | ${one.toFixed(2)} | |`,
      `| sales per second with two replicas of each service | | ${two.toFixed(2)} | |`,
      `| two replicas ÷ one replica | ≥ ${MIN_REPLICA_RATIO} | ${ratioOf(scaling).toFixed(2)} | ${verdict} |`,
    ].join('\n'),
  ].join('\n\n')
}
