import { createRequire } from 'node:module'
import { Metadata, type ServiceError, status } from '@grpc/grpc-js'
import shared from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/shared_pb.js'
import statuses from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/status_pb.js'
import type { BatchAppendReq, AppendReq, ReadReq } from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import streams from '@kurrent/kurrentdb-client/generated/kurrentdb/protocols/v1/streams_pb.js'
import type { LogAnswer, LogRecord, Proposed } from './log.ts'

// The client's own copy: messages of another one are not instances of its classes.
const ofClient = createRequire(createRequire(import.meta.url).resolve('@kurrent/kurrentdb-client'))
type Any = NonNullable<ReturnType<InstanceType<typeof statuses.Status>['getDetails']>>
const { Any } = ofClient('google-protobuf/google/protobuf/any_pb.js') as { Any: new () => Any } // it has no types of its own there
const { Empty } = ofClient('google-protobuf/google/protobuf/empty_pb.js') as { Empty: new () => Any }

const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text))
export const textOf = (value: Uint8Array | string | undefined): string => Buffer.from(value ?? '').toString()
const identifier = (stream: string) => new shared.StreamIdentifier().setStreamName(bytes(stream))

export function recordedEvent({ stream, revision, position, id, type, contentType, data, metadata }: LogRecord) {
  const event = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(id))
    .setStreamIdentifier(identifier(stream))
    .setStreamRevision(`${revision}`)
    .setCommitPosition(`${position}`)
    .setPreparePosition(`${position}`)
    .setData(data)
    .setCustomMetadata(metadata)
  event.getMetadataMap().set('type', type).set('content-type', contentType).set('created', '17000000000000000')
  return new streams.ReadResp().setEvent(new streams.ReadResp.ReadEvent().setEvent(event).setCommitPosition(`${position}`))
}

export const streamNotFound = (stream: string) =>
  new streams.ReadResp().setStreamNotFound(new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier(stream)))

export const confirmation = () =>
  new streams.ReadResp().setConfirmation(new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(crypto.randomUUID()))

export const checkpoint = (position: bigint) =>
  new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint().setCommitPosition(`${position}`).setPreparePosition(`${position}`),
  )

export const proposed = (message: AppendReq.ProposedMessage | BatchAppendReq.ProposedMessage): Proposed => ({
  id: message.getId()?.getString() ?? '',
  type: message.getMetadataMap().get('type') ?? '',
  contentType: message.getMetadataMap().get('content-type') ?? '',
  data: message.getData_asU8(),
  metadata: message.getCustomMetadata_asU8(),
})

export function appended(answer: LogAnswer, withPosition: boolean) {
  const response = new streams.AppendResp()
  if ('wrong' in answer) {
    const wrong = new streams.AppendResp.WrongExpectedVersion().setExpectedAny(new shared.Empty())
    const { current } = answer.wrong
    return response.setWrongExpectedVersion(
      current === undefined ? wrong.setCurrentNoStream(new shared.Empty()) : wrong.setCurrentRevision(`${current}`),
    )
  }
  const success = new streams.AppendResp.Success().setCurrentRevision(`${answer.revision}`)
  const position = new streams.AppendResp.Position()
    .setCommitPosition(`${answer.position}`)
    .setPreparePosition(`${answer.position}`)
  return response.setSuccess(withPosition ? success.setPosition(position) : success.setNoPosition(new shared.Empty()))
}

const batchResponse = (stream: string, correlation: string) =>
  new streams.BatchAppendResp().setCorrelationId(new shared.UUID().setString(correlation)).setStreamIdentifier(identifier(stream))

export function batchAppended(stream: string, correlation: string, answer: LogAnswer, withPosition: boolean) {
  if ('wrong' in answer) {
    const wrong = new shared.WrongExpectedVersion().setExpectedAny(new Empty())
    const { current } = answer.wrong
    if (current === undefined) wrong.setCurrentNoStream(new Empty())
    else wrong.setCurrentStreamRevision(`${current}`)
    return batchError(stream, correlation, 'WrongExpectedVersion', wrong.serializeBinary())
  }
  const success = new streams.BatchAppendResp.Success().setCurrentRevision(`${answer.revision}`)
  const position = new shared.AllStreamPosition().setCommitPosition(`${answer.position}`).setPreparePosition(`${answer.position}`)
  return batchResponse(stream, correlation).setSuccess(
    withPosition ? success.setPosition(position) : success.setNoPosition(new Empty()),
  )
}

export function batchError(stream: string, correlation: string, type: string, details: Uint8Array = new Uint8Array()) {
  const any = new Any()
  any.pack(details, `event_store.client.${type}`)
  return batchResponse(stream, correlation).setError(new statuses.Status().setMessage(type).setDetails(any))
}

/** What the server's call ends with; grpc-js makes the trailers of it. */
export function failure(code: status, details: string, trailers: Readonly<Record<string, string>> = {}): ServiceError {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(trailers)) metadata.set(key, value)
  return Object.assign(new Error(details), { code, details, metadata })
}

export const notLeader = (host: string, port: number): ServiceError =>
  failure(status.NOT_FOUND, 'Leader info available', {
    exception: 'not-leader',
    'leader-endpoint-host': host,
    'leader-endpoint-port': `${port}`,
  })

/** Which events a read of the whole log asks for. */
export function filterOf(options: ReadReq.Options): (record: LogRecord) => boolean {
  const filter = options.getFilter()
  const ofType = filter?.getEventType()
  const expression = ofType ?? filter?.getStreamIdentifier()
  if (!expression) return () => true
  const prefixes = expression.getPrefixList()
  const regex = new RegExp(expression.getRegex())
  const fits = (name: string): boolean =>
    prefixes.length > 0 ? prefixes.some((prefix) => name.startsWith(prefix)) : regex.test(name)
  return ({ stream, type }) => fits(ofType ? type : stream)
}
