import { Fault } from '@penstock/kernel/result.ts'
import { commandTopic, eventTopic, republishTopic } from '@penstock/runtime/commands/messages.ts'
import kafkajs, { type AclEntry, type Admin } from 'kafkajs'
import { systemClock } from '../system/clock.ts'
import { briefRetry, type KafkaClientOptions, createKafkaClient } from './client.ts'
import { createTopicManager, type TopicSettings } from './topics.ts'

// Node cannot import the enums of this CommonJS package by name.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs

/** The messages that a process may read and write on the bus. */
export type BusPermissions = {
  readonly service: string
  /** Services whose facts the process reads. */
  readonly follows: readonly string[]
  /** Services to which the process sends commands. */
  readonly commands: readonly string[]
  /** Whether the process has streams. Only then does it publish facts and receive commands. */
  readonly mayAppend: boolean
}

export type GrantOptions = KafkaClientOptions &
  TopicSettings & {
    /** Prefix of topic and group names. */
    readonly prefix: string
    /** The permissions of each process, by the name of its Kafka user. */
    readonly parts: ReadonlyMap<string, BusPermissions>
  }

type Right = Pick<AclEntry, 'resourceType' | 'resourceName' | 'resourcePatternType' | 'operation'>

/** Permissions with the services that send commands to this service; each sender has its own topic. */
type PermissionsWithSenders = BusPermissions & { readonly senders: readonly string[] }

const commandsOf = ({ service, senders }: PermissionsWithSenders): readonly string[] =>
  senders.map((sender) => commandTopic(service, sender))
const topicsOf = (part: PermissionsWithSenders): readonly string[] => [
  eventTopic(part.service),
  ...commandsOf(part),
  republishTopic(part.service),
]

/**
 * Creates the topics, and grants each service's Kafka user exactly the rights of its permissions. The operator of the brokers
 * creates the users, because that depends on the login mechanism.
 * @throws Error with an explanation if the brokers check no rights, or refuse to change them
 */
export async function grantTopics({ prefix, parts, ...options }: GrantOptions): Promise<void> {
  const kafka = createKafkaClient(options, briefRetry)
  const topics = createTopicManager(kafka, options, systemClock, options.log)
  const admin = kafka.admin()
  try {
    const permissionsByUser = new Map([...parts].map(([user, part]) => [user, { ...part, senders: sendersTo(part, parts) }]))
    const owners = [...permissionsByUser.values()].filter(({ mayAppend }) => mayAppend)
    await Promise.all(owners.flatMap(topicsOf).map((topic) => topics.ensure(prefix + topic)))
    await admin.connect()
    for (const [user, part] of permissionsByUser) await grant(admin, `User:${user}`, rightsOf(prefix, part))
  } catch (error) {
    throw new Error(explainError(error), { cause: error })
  } finally {
    await topics.close()
    await admin.disconnect().catch(() => undefined)
  }
}

const sendersTo = (owner: BusPermissions, parts: GrantOptions['parts']): readonly string[] =>
  [...parts.values()].filter(({ commands }) => commands.includes(owner.service)).map(({ service }) => service)

/** Adds missing rights before it removes surplus rights, so that a right that stays is never absent. */
async function grant(admin: Admin, principal: string, wanted: readonly Right[]): Promise<void> {
  const { resources } = await admin.describeAcls({ principal, ...ANY_ACL })
  const present = resources.flatMap(({ acls, ...resource }) => acls.map((acl) => ({ ...resource, ...acl })))
  const entries = wanted.map((right) => ({ ...right, principal, host: '*', permissionType: AclPermissionTypes.ALLOW }))
  const [presentKeys, wantedKeys] = [new Set(present.map(keyOf)), new Set(entries.map(keyOf))]
  const missing = entries.filter((entry) => !presentKeys.has(keyOf(entry)))
  const surplus = present.filter((entry) => !wantedKeys.has(keyOf(entry)))
  if (missing.length > 0) await admin.createAcls({ acl: missing })
  if (surplus.length > 0) await admin.deleteAcls({ filters: surplus })
}

const ANY_ACL = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
}

const keyOf = (entry: AclEntry): string =>
  [entry.resourceType, entry.resourcePatternType, entry.resourceName, entry.operation, entry.permissionType, entry.host].join(' ')

/**
 * Derives the rights of a service. It creates and reads its own topics and publishes its facts. It reads the facts of the
 * services that it follows, and requests missing facts from them. It writes to its command topic at each service that it
 * commands. Its groups are named `<service>` and `<service>.<more>`.
 */
function rightsOf(prefix: string, part: PermissionsWithSenders): readonly Right[] {
  const { service, follows, commands, mayAppend } = part
  const topic = (name: string, operation: number): Right => ({
    resourceType: AclResourceTypes.TOPIC,
    resourceName: prefix + name,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    operation,
  })
  const group = (name: string, resourcePatternType: number): Right => ({
    resourceType: AclResourceTypes.GROUP,
    resourceName: prefix + name,
    resourcePatternType,
    operation: AclOperationTypes.READ,
  })
  const { CREATE, DESCRIBE, READ, WRITE } = AclOperationTypes
  const { LITERAL, PREFIXED } = ResourcePatternTypes
  const ownRights = [
    ...topicsOf(part).flatMap((name) => [topic(name, CREATE), topic(name, DESCRIBE)]),
    topic(eventTopic(service), WRITE),
    ...commandsOf(part).map((name) => topic(name, READ)),
    topic(republishTopic(service), READ),
  ]
  return [
    ...(mayAppend ? ownRights : []),
    ...follows.flatMap((owner) => [topic(eventTopic(owner), READ), topic(republishTopic(owner), WRITE)]),
    ...commands.map((owner) => topic(commandTopic(owner, service), WRITE)),
    ...(mayAppend || follows.length > 0 ? [group(service, LITERAL), group(`${service}.`, PREFIXED)] : []),
  ]
}

function explainError(error: unknown): string {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  if (type === 'SECURITY_DISABLED')
    return 'The brokers check no rights: set their authorizer.class.name, or leave PENSTOCK_KAFKA_USERS empty.'
  if (type === 'CLUSTER_AUTHORIZATION_FAILED')
    return 'The user that the job logs in as may not set rights at the brokers; it needs Alter and Describe of the cluster.'
  const reason = error instanceof Fault || error instanceof Error ? error.message : String(error)
  return `The rights at the brokers could not be set: ${reason}`
}
