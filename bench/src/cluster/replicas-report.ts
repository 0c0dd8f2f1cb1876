import { IN_FLIGHT, MIN_REPLICA_RATIO, type ReplicaScaling } from './replicas.ts'

export const REPLICAS_HEADING = '## Two replicas beside one'

/** Share of its CPU from which a part counts as full. */
const FULL_SHARE = 0.9
const formatShare = (share: number): string => `${Math.round(share * 100)} %`
const ratioOf = ({ one, two }: ReplicaScaling): number => two.perSecond / one.perSecond

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
    `Measured on ${now.toISOString().slice(0, 10)}; \`npm run bench:cluster -- --replicas --write\` measures only this part. Each replica of the service \`${service}\` is held to ${coreShare} of a core, so that this service limits the sales. Every other service has one replica. The sales are counted from the 30th to the 90th second of a load with at most ${IN_FLIGHT} unfinished orders.`,
    ...(verdict === 'missed' ? [nameFullPart(scaling)] : []),
    [
      '| | target | measured | |',
      '|---|---:|---:|---|',
      `| sales per second with one replica | | ${one.perSecond.toFixed(2)} | |`,
      `| sales per second with two replicas | | ${two.perSecond.toFixed(2)} | |`,
      `| cores of the machine that are busy, with one replica and with two | | ${formatShare(one.busyShare)}, ${formatShare(two.busyShare)} | |`,
      `| share of its CPU that \`${service}\` used, with one replica and with two | | ${formatShare(one.usedShare)}, ${formatShare(two.usedShare)} | |`,
      `| two replicas ÷ one replica | ≥ ${MIN_REPLICA_RATIO} | ${ratioOf(scaling).toFixed(2)} | ${verdict} |`,
    ].join('\n'),
  ].join('\n\n')
}

/** Names what limits the sales with two replicas. */
function nameFullPart({ service, two }: ReplicaScaling): string {
  if (two.usedShare >= FULL_SHARE)
    return `With two replicas \`${service}\` itself is full. Each replica has its own work at rest, and handles fewer messages at a time than one replica with a longer queue.`
  if (two.busyShare >= FULL_SHARE) return 'With two replicas the machine itself is full.'
  return `With two replicas neither \`${service}\` nor the machine is full. The orders wait for blocks, for other services, or at the admission.`
}
