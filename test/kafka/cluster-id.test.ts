import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKafka } from '@penstock/servers/kafka.ts'
import { expect, test } from 'vitest'
import { noKafka } from './servers.ts'

// One drawn id of 64 begins so, and the program that formats the storage would take it for an option.
test.skipIf(noKafka)('a cluster whose id begins with a dash starts too', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'penstock-kafka-'))
  try {
    await writeFile(join(dir, 'cluster-id'), '-TVxj8tJNOHiWIpTI5PpKA')
    const servers = await startKafka({ dir })
    await servers.stop()
    expect(servers.brokers).toHaveLength(1)
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
})
