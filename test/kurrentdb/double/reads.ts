import { type ServerWritableStream, status } from '@grpc/grpc-js'
import streams, { type ReadReq, type ReadResp } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerNode } from './faults.ts'
import type { ServerLog } from './log.ts'
import {
  createConfirmation,
  createServiceError,
  parseFilter,
  createReadEvent,
  createStreamNotFound,
  bytesToText,
} from './messages.ts'
import type { createLogSubscriptions } from './subscriptions.ts'

/** Handles reads of a stream or of the whole log, and subscriptions to the whole log. */
export const handleRead =
  ({ log, faults, refusal }: ServerNode, activeSubscriptions: ReturnType<typeof createLogSubscriptions>) =>
  (call: ServerWritableStream<ReadReq, ReadResp>): void => {
    const options = call.request.getOptions()
    if (!options) return void call.emit('error', createServiceError(status.INVALID_ARGUMENT, 'no options'))
    const kind = options.hasSubscription() ? 'subscribe' : 'read'
    const refusedError = refusal(kind, call.metadata, options.getFilter()?.getStreamIdentifier()?.getPrefixList())
    if (refusedError) return void call.emit('error', refusedError)
    if (faults.silentCalls.has(kind)) return
    const from = options.getAll()?.getPosition()?.getCommitPosition()
    const end = log.all().at(-1)?.position ?? 0n
    if (from !== undefined && BigInt(from) <= end && !log.all().some(({ position }) => position === BigInt(from))) {
      if (kind === 'read')
        return void call.emit('error', createServiceError(status.UNKNOWN, 'Unexpected ReadAllResult: InvalidPosition'))
      call.write(createConfirmation())
      return void call.emit('error', createServiceError(status.INVALID_ARGUMENT, 'Trying to read from an invalid position.'))
    }
    if (kind === 'subscribe') return activeSubscriptions.add(call, options)
    for (const response of readPage(log, options)) call.write(response)
    call.end()
  }

function readPage(log: ServerLog, options: ReadReq.Options): ReadResp[] {
  const count = Number(options.getCount())
  const stream = options.getStream()
  if (stream) {
    const name = bytesToText(stream.getStreamIdentifier()?.getStreamName())
    const records = log.stream(name)
    if (!records) return [createStreamNotFound(name)]
    const from = BigInt(stream.hasRevision() ? stream.getRevision() : 0)
    const first = findFirstVisible(log, name)
    return records
      .filter(({ revision }) => revision >= from && revision >= first)
      .slice(0, count)
      .map(createReadEvent)
  }
  const from = BigInt(options.getAll()?.getPosition()?.getCommitPosition() ?? 0)
  const isRequested = parseFilter(options)
  if (options.getReadDirection() === streams.ReadReq.Options.ReadDirection.BACKWARDS)
    return log.all().filter(isRequested).toReversed().slice(0, count).map(createReadEvent)
  return log
    .all()
    .filter((record) => record.position >= from && isRequested(record))
    .slice(0, count)
    .map(createReadEvent)
}

/** Finds the first revision that a stream's metadata does not hide. Hidden events remain in reads of the whole log. */
function findFirstVisible(log: ServerLog, stream: string): bigint {
  const newest = log.stream(`$$${stream}`)?.at(-1)
  const settings = newest ? (JSON.parse(bytesToText(newest.data)) as { readonly $tb?: number; readonly $maxCount?: number }) : {}
  const next = BigInt(log.stream(stream)?.length ?? 0)
  const byCount = settings.$maxCount === undefined ? 0n : next - BigInt(settings.$maxCount)
  const byRevision = BigInt(settings.$tb ?? 0)
  return byCount > byRevision ? byCount : byRevision
}
