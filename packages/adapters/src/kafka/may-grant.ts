import type { Clock } from '@penstock/ports/clock.ts'
import kafkajs from 'kafkajs'
import { briefRetry, type KafkaClientOptions, createKafkaClient } from './client.ts'

// Node cannot import the enums of this CommonJS package by name.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs

const RETRY_MS = 10_000

/** A filter that matches no existing right. The brokers still check whether the user may remove rights. */
const UNMATCHED_ACL = {
  resourceType: AclResourceTypes.TOPIC,
  resourceName: 'a topic that nobody can make',
  resourcePatternType: ResourcePatternTypes.LITERAL,
  principal: 'User:nobody',
  host: '*',
  operation: AclOperationTypes.READ,
  permissionType: AclPermissionTypes.DENY,
}

/**
 * Whether the brokers let the user change rights, its own included. They let super users do so, and every user if
 * `allow.everyone.if.no.acl.found` is true. Retries until the brokers answer.
 * @returns false if the signal aborts first
 */
export async function mayGrant(options: KafkaClientOptions, clock: Clock, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const admin = createKafkaClient(options, briefRetry).admin()
    try {
      await admin.connect()
      await admin.deleteAcls({ filters: [UNMATCHED_ACL] })
      return true
    } catch (error) {
      const type = error instanceof Error && 'type' in error ? error.type : undefined
      if (type === 'CLUSTER_AUTHORIZATION_FAILED' || type === 'SECURITY_DISABLED') return type === 'SECURITY_DISABLED'
    } finally {
      await admin.disconnect().catch(() => undefined)
    }
    await clock.sleep(RETRY_MS, signal)
  }
  return false
}
