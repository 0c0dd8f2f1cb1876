import { z } from 'zod'
import { hostsAndPorts, webAddress } from './address-schemas.ts'
import { defineVariable, flag, oneOf, wholeNumberIn } from './value-schemas.ts'

/** Settings for the addresses of the brokers and the log-in to them. */
export const kafkaVariables = {
  kafkaBrokers: defineVariable(
    'PENSTOCK_KAFKA_BROKERS',
    'brokers of the cluster, as host:port, separated by commas',
    hostsAndPorts('several'),
    '',
  ),
  kafkaPrefix: defineVariable(
    'PENSTOCK_KAFKA_PREFIX',
    'prefix of the names of topics and consumer groups',
    z.string().regex(/^[\w.-]{0,100}$/, 'letters, digits, dots, dashes and underscores'),
    'penstock.',
  ),
  kafkaPartitions: defineVariable(
    'PENSTOCK_KAFKA_PARTITIONS',
    'partitions of a new topic; at most this many replicas of a service share its work. An existing topic is never changed',
    wholeNumberIn(1, 1000),
    '12',
  ),
  kafkaReplicas: defineVariable(
    'PENSTOCK_KAFKA_REPLICAS',
    'replication factor: copies of each message on different brokers; from 3 on, two brokers have to store a message before it counts',
    wholeNumberIn(1, 7),
    '3',
  ),
  kafkaRetentionHours: defineVariable(
    'PENSTOCK_KAFKA_RETENTION_HOURS',
    'hours for which a new topic keeps its messages; no consumer may be stopped for longer',
    wholeNumberIn(1, 87_600),
    '168',
  ),
  kafkaSessionSeconds: defineVariable(
    'PENSTOCK_KAFKA_SESSION_SECONDS',
    'session timeout: seconds without a heartbeat after which the partitions of a replica go to others. Brokers refuse less than their group.min.session.timeout.ms, by default 6 s',
    wholeNumberIn(1, 300),
    '10',
  ),
  kafkaTls: defineVariable('PENSTOCK_KAFKA_TLS', '1: connect to the brokers by TLS', flag, '0'),
  kafkaCaFile: defineVariable(
    'PENSTOCK_KAFKA_CA_FILE',
    "certificate authority of the brokers' certificates; empty: the system's authorities",
    z.string(),
    '',
  ),
  kafkaCertFile: defineVariable('PENSTOCK_KAFKA_CERT_FILE', 'own certificate, if the brokers require one', z.string(), ''),
  kafkaKeyFile: defineVariable('PENSTOCK_KAFKA_KEY_FILE', 'private key of the own certificate', z.string(), ''),
  kafkaSasl: defineVariable(
    'PENSTOCK_KAFKA_SASL',
    'log-in at the brokers: none, plain, scram-sha-256, scram-sha-512 or oauthbearer. plain sends the password unencrypted, so use it only with TLS or on loopback',
    oneOf('none', 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'),
    'none',
  ),
  kafkaUser: defineVariable(
    'PENSTOCK_KAFKA_USER',
    'user for plain and SCRAM, or client id for PENSTOCK_KAFKA_TOKEN_URL',
    z.string(),
    '',
  ),
  kafkaUsers: defineVariable(
    'PENSTOCK_KAFKA_USERS',
    "prefix of the services' users at the brokers, such as penstock_. Each process logs in as the user of its service. The migration job grants each user its rights on topics and groups. Empty: all processes log in as PENSTOCK_KAFKA_USER",
    z.string().regex(/^([A-Za-z0-9][\w.-]{0,60})?$/, 'letters, digits, dots, dashes and underscores'),
    '',
  ),
  kafkaPasswordFile: defineVariable(
    'PENSTOCK_KAFKA_PASSWORD_FILE',
    'file with the password for plain and SCRAM, or with the client secret for PENSTOCK_KAFKA_TOKEN_URL',
    z.string(),
    '',
  ),
  kafkaTokenFile: defineVariable(
    'PENSTOCK_KAFKA_TOKEN_FILE',
    'file with the token for oauthbearer, read at every log-in',
    z.string(),
    '',
  ),
  kafkaTokenUrl: defineVariable(
    'PENSTOCK_KAFKA_TOKEN_URL',
    'address that issues a token for oauthbearer, by the client credentials grant',
    webAddress({ isEndpoint: true }),
    '',
  ),
} as const
