import type { Metadata, ServiceError } from '@grpc/grpc-js'
import type { ServerLog } from './log.ts'
import { createNotLeaderError } from './messages.ts'

/** Faults of the server, which a test switches on and off. */
export type ServerFaults = {
  /** Calls of these kinds get no answer, and their connections remain open. */
  silentCalls: Set<'features' | 'gossip' | 'append' | 'read' | 'subscribe'>
  /** The server stores appends, and then sends no answer or breaks the call off. */
  lostAnswers: 'silently' | 'breaking' | undefined
  /** Calls that need the leader are redirected to this address. */
  leader: { readonly host: string; readonly port: number } | undefined
  /** The gossip fails because no leader is elected. */
  isLeaderless: boolean
  /** The error with which every call ends. */
  refuse: ServiceError | undefined
  /** The error in the answer of BatchAppend to each append, as the name of a protocol message. */
  batchError: string | undefined
  /** If false, answers to appends contain no position, as answers of older servers may. */
  hasPositions: boolean
  /** Streams whose events no subscription delivers, although its checkpoints pass them. */
  hiddenStreams: Set<string>
  /** The server ends a subscription when more than this number of responses wait for its client. */
  maxWaiting: number
}

const createNoFaults = (): ServerFaults => ({
  silentCalls: new Set(),
  lostAnswers: undefined,
  leader: undefined,
  isLeaderless: false,
  refuse: undefined,
  batchError: undefined,
  hasPositions: true,
  hiddenStreams: new Set(),
  maxWaiting: Number.POSITIVE_INFINITY,
})

type CallKind = 'append' | 'batchAppend' | 'stalled' | 'read' | 'subscribe'

type RecordedCall = {
  readonly kind: CallKind
  readonly credentials: string | undefined
  /** The prefixes of stream names in the filter of the call. */
  readonly prefixes: readonly string[]
}

/** The log, the faults and the recorded calls that the services of a node share. */
export function createServerNode(log: ServerLog) {
  const faults = createNoFaults()
  const calls: RecordedCall[] = []
  return {
    log,
    faults,
    /** All calls so far, with their credentials. */
    calls,
    /** Records a call. @returns the error with which the server rejects it before it reads the request */
    refusal: (kind: CallKind, metadata: Metadata, prefixes: readonly string[] = []): ServiceError | undefined => {
      const [authorization] = metadata.get('authorization')
      calls.push({ kind, credentials: authorization === undefined ? undefined : String(authorization), prefixes })
      if (faults.refuse) return faults.refuse
      const { leader } = faults
      return leader && metadata.get('requires-leader')[0] === 'true' ? createNotLeaderError(leader.host, leader.port) : undefined
    },
  }
}
export type ServerNode = ReturnType<typeof createServerNode>
