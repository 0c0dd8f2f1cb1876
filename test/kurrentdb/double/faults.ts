import type { Metadata, ServiceError } from '@grpc/grpc-js'
import type { ServerLog } from './log.ts'
import { notLeader } from './messages.ts'

/** What goes wrong at the server, switched on and off by a test. */
export type ServerFaults = {
  /** Answers nothing of this kind any more, and breaks nothing off. */
  silent: Set<'features' | 'gossip' | 'append' | 'read' | 'subscribe'>
  /** Appends are stored, and then: no answer at all, or the end of the call. */
  lose: 'silently' | 'breaking' | undefined
  /** Calls that need the leader are sent on. */
  leader: { readonly host: string; readonly port: number } | undefined
  /** Knows of no leader, not even itself. */
  leaderless: boolean
  /** Every call ends with this. */
  refuse: ServiceError | undefined
  /** What BatchAppend answers each append with: the name of one of the protocol's error messages. */
  batchError: string | undefined
  /** Append answers with no position, as an older server may. */
  positions: boolean
  /** Streams whose events no subscription tells of: its checkpoints go past them. */
  untold: Set<string>
  /** A subscription is ended when so many answers wait for its client. */
  mostWaiting: number
}

const noFaults = (): ServerFaults => ({
  silent: new Set(),
  lose: undefined,
  leader: undefined,
  leaderless: false,
  refuse: undefined,
  batchError: undefined,
  positions: true,
  untold: new Set(),
  mostWaiting: Number.POSITIVE_INFINITY,
})

type Kind = 'append' | 'batchAppend' | 'stalled' | 'read' | 'subscribe'

type Call = {
  readonly kind: Kind
  readonly credentials: string | undefined
  /** The names of streams that the caller asked for begin with one of these. */
  readonly prefixes: readonly string[]
}

/** What the services of a node share. */
export function aNode(log: ServerLog) {
  const faults = noFaults()
  const calls: Call[] = []
  return {
    log,
    faults,
    /** All that were made, with what they were authorised by. */
    calls,
    /** @returns what refuses the call before anything is looked at */
    refusal: (kind: Kind, metadata: Metadata, prefixes: readonly string[] = []): ServiceError | undefined => {
      const [authorization] = metadata.get('authorization')
      calls.push({ kind, credentials: authorization === undefined ? undefined : String(authorization), prefixes })
      if (faults.refuse) return faults.refuse
      const { leader } = faults
      return leader && metadata.get('requires-leader')[0] === 'true' ? notLeader(leader.host, leader.port) : undefined
    },
  }
}
export type ServerNode = ReturnType<typeof aNode>
