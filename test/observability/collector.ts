import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type AttributeValue = {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly boolValue?: boolean
  readonly doubleValue?: number
}
type SpanAttribute = { readonly key: string; readonly value: AttributeValue }
type WireSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes?: readonly SpanAttribute[]
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
}
/** The part of the OpenTelemetry protocol (OTLP) that the tests use; see opentelemetry-proto, `ExportTraceServiceRequest`. */
type TraceExport = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly SpanAttribute[] }
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[]
  }[]
}

export type CollectedSpan = {
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly name: string
  /** `service.name` of the process that sent the span. */
  readonly process: string
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>
  readonly links: readonly string[]
}

export type Collector = {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  close(): Promise<void>
}

/** Starts a server that receives OTLP over HTTP, as JSON, and stores the spans. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => (body += text))
    request.on('end', () => {
      if (request.url === '/v1/traces') spans.push(...readSpans(JSON.parse(body) as TraceExport)) // the exporter writes this form
      response.setHeader('content-type', 'application/json').end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const readSpans = ({ resourceSpans }: TraceExport): readonly CollectedSpan[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const process = String(toPlainAttributes(resource.attributes)['service.name'])
    return scopeSpans.flatMap((scope) => scope.spans.map((span) => toCollectedSpan(span, process)))
  })

const toCollectedSpan = (span: WireSpan, process: string): CollectedSpan => ({
  trace: span.traceId,
  id: span.spanId,
  parent: span.parentSpanId === '' ? undefined : span.parentSpanId,
  name: span.name,
  process,
  attributes: toPlainAttributes(span.attributes ?? []),
  links: (span.links ?? []).map(({ traceId, spanId }) => `${traceId}-${spanId}`),
})

const toPlainAttributes = (attributes: readonly SpanAttribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        value.doubleValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  )
