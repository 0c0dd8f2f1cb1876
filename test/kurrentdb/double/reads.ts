import { type ServerWritableStream, status } from '@grpc/grpc-js'
import type { ReadReq, ReadResp } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { ServerNode } from './faults.ts'
import type { ServerLog } from './log.ts'
import { failure, filterOf, recordedEvent, streamNotFound, textOf } from './messages.ts'
import type { subscriptions } from './subscriptions.ts'

/** Pages of a stream or of the whole log, and subscriptions to that. */
export const reads =
  ({ log, faults, refusal }: ServerNode, subscribed: ReturnType<typeof subscriptions>) =>
  (call: ServerWritableStream<ReadReq, ReadResp>): void => {
    const options = call.request.getOptions()
    if (!options) return void call.emit('error', failure(status.INVALID_ARGUMENT, 'no options'))
    const kind = options.hasSubscription() ? 'subscribe' : 'read'
    const refused = refusal(kind, call.metadata)
    if (refused) return void call.emit('error', refused)
    if (faults.silent.has(kind)) return
    const from = options.getAll()?.getPosition()?.getCommitPosition()
    if (from !== undefined && !log.all().some(({ position }) => position === BigInt(from)))
      return void call.emit('error', failure(status.INVALID_ARGUMENT, 'Trying to read from an invalid position.'))
    if (kind === 'subscribe') return subscribed.add(call, options)
    for (const response of page(log, options)) call.write(response)
    call.end()
  }

function page(log: ServerLog, options: ReadReq.Options): ReadResp[] {
  const count = Number(options.getCount())
  const stream = options.getStream()
  if (stream) {
    const name = textOf(stream.getStreamIdentifier()?.getStreamName())
    const records = log.stream(name)
    if (!records) return [streamNotFound(name)]
    const from = stream.hasRevision() ? Number(stream.getRevision()) : 0
    return records.slice(from, from + count).map(recordedEvent)
  }
  const from = BigInt(options.getAll()?.getPosition()?.getCommitPosition() ?? 0)
  const isWanted = filterOf(options)
  return log
    .all()
    .filter((record) => record.position >= from && isWanted(record))
    .slice(0, count)
    .map(recordedEvent)
}
