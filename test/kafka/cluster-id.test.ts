import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKafka } from '@penstock/servers/kafka.ts'
import { expect, test } from 'vitest'
import { isKafkaMissing } from './servers.ts'

// One of 64 random ids begins with a dash. The program that formats the storage would parse such an id as an option.
test.skipIf(isKafkaMissing)('a cluster whose id begins with a dash starts', async () => {
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
