"""Users and policies."""

from __future__ import annotations

from tests.engine.admin.cases.case import Bad, Effect, Good

USER = "createUser -b {broker} -u {new} -pf {password_file} -t Normal"
ACL = "createAcl -b {broker} -s {new} -r Topic:{topic} -a Pub,Sub -i 10.0.0.0/8"
USERS = "Broker, UserName, UserType, UserStatus"
POLICIES = "Broker, Subject, PolicyType, Resource, Actions, SourceIp, Decision"
POLICY = {
    "Broker": "{broker}",
    "Subject": "User:{new}",
    "PolicyType": "Custom",
    "Resource": "Topic:{topic}",
    "Actions": "Pub,Sub",
    "SourceIp": "10.0.0.0/8",
    "Decision": "Allow",
}
SIGNED_IN = Effect("listUser -b {broker} -f {new} -ak {new} -sk {password}", {"username": "{new}"})


def user(broker: str = "{broker}", **part: str) -> Effect:
    return Effect(f"listUser -b {broker}", {"username": "{new}", **part})


def policy(broker: str = "{broker}", **part: str) -> Effect:
    return Effect(f"listAcl -b {broker}", {"subject": "User:{new}", "resource": "Topic:{topic}", **part})


GOOD = {
    "createUser": [
        Good(
            "-b {broker} -u {new} -pf {password_file} -t Super",
            says="create user to {broker} success",
            document={"brokers": ["{broker}"], "user": "{new}"},
            shows=SIGNED_IN,
        ),
        Good(
            "-b {broker} -u {new} -p {password} -t Normal",
            says="create user to {broker} success",
            document={"brokers": ["{broker}"], "user": "{new}"},
            shows=user(usertype="Normal", userstatus="enable"),
        ),
    ],
    "updateUser": [
        Good(
            "-b {broker} -u {new} -s disable",
            says="update user to {broker} success",
            document={"brokers": ["{broker}"], "user": "{new}"},
            before=(USER,),
            shows=user(userstatus="disable"),
        ),
        Good(
            "-b {broker} -u {new} -pf {password_file}",
            says="update user to {broker} success",
            document={"user": "{new}"},
            before=("createUser -b {broker} -u {new} -p another-secret -t Super",),
            shows=SIGNED_IN,
        ),
    ],
    "deleteUser": [
        Good(
            "-b {broker} -u {new}",
            says="delete user to {broker} success",
            document={"brokers": ["{broker}"], "user": "{new}"},
            before=(USER,),
            hides=user(),
        )
    ],
    "getUser": [
        Good(
            "-b {broker} -u {new}",
            USERS,
            {"Broker": "{broker}", "UserName": "{new}", "UserType": "Normal", "UserStatus": "enable"},
            before=(USER,),
        )
    ],
    "listUser": [
        Good(
            "-b {broker} -f administ",
            USERS,
            {"Broker": "{broker}", "UserName": "administrator", "UserType": "Super", "UserStatus": "enable"},
        ),
        Good("-c {cluster}", USERS, {"Broker": "{slave}", "UserName": "administrator"}),
    ],
    "copyUser": [
        Good(
            "-f {broker} -t {master} -u {new} -pf {password_file}",
            says="copy user to {master} success",
            document={"brokers": ["{master}"], "users": ["{new}"]},
            before=(USER,),
            shows=user("{master}", usertype="Normal"),
        )
    ],
    "createAcl": [
        Good(
            "-b {broker} -s {new} -r Topic:{topic} -a Pub,Sub -i 10.0.0.0/8",
            says="create acl to {broker} success",
            document={"brokers": ["{broker}"], "acl": {"subject": "User:{new}"}},
            before=(USER,),
            shows=policy(actions="Pub,Sub", sourceip="10.0.0.0/8", decision="Allow"),
        )
    ],
    "updateAcl": [
        Good(
            "-b {broker} -s User:{new} -r Topic:{topic} -a Pub -d Deny",
            says="update acl to {broker} success",
            document={"brokers": ["{broker}"], "acl": {"subject": "User:{new}"}},
            before=(USER, ACL),
            shows=policy(actions="Pub", decision="Deny"),
        )
    ],
    "deleteAcl": [
        Good(
            "-b {broker} -s {new} -r Topic:{topic}",
            says="delete acl to {broker} success",
            document={"brokers": ["{broker}"], "subject": "User:{new}"},
            before=(USER, ACL),
            hides=policy(),
        ),
        Good(
            "-b {broker} -s {new}",
            says="delete acl to {broker} success",
            document={"subject": "User:{new}"},
            before=(USER, ACL),
            hides=policy(),
        ),
    ],
    "getAcl": [Good("-b {broker} -s {new}", POLICIES, POLICY, before=(USER, ACL))],
    "listAcl": [
        Good("-b {broker}", POLICIES, POLICY, before=(USER, ACL)),
        Good("-b {broker} -s {new} -r {topic}", POLICIES, POLICY, before=(USER, ACL)),
    ],
    "copyAcl": [
        Good(
            "-f {broker} -t {master} -s {new}",
            says="copy acl to {master} success",
            document={"broker": "{master}", "subjects": ["User:{new}"]},
            before=(USER, "copyUser -f {broker} -t {master} -u {new} -p {password}", ACL),
            shows=policy("{master}", actions="Pub,Sub"),
        )
    ],
}

BAD = {
    "createUser": [
        Bad("-b {broker} -u new", 2, "no password: give -p, --passwordFile or $SIGNALBOX_PASSWORD"),
        Bad("-b {broker} -u new -pf /nothing/here", 2, "/nothing/here cannot be read: No such file"),
        Bad("-b {broker} -u new -p x -t Emperor", 2, "invalid choice: 'Emperor'"),
        Bad("-b {broker} -u administrator -p x", 1, "The user is existed"),
        Bad("-c nowhere -u new -p x", 1, "no cluster is called nowhere"),
    ],
    "updateUser": [
        Bad("-b {broker} -u administrator", 2, "nothing to change: give a password, -t or -s"),
        Bad("-b {broker} -u nobody -s disable", 1, "The user is not exist"),
    ],
    "deleteUser": [Bad("-c nowhere -u nobody", 1, "no cluster is called nowhere")],
    "getUser": [Bad("-b {broker} -u nobody", 1, "USER_NOT_EXIST (3001): no user is called nobody")],
    "listUser": [Bad("-c nowhere", 1, "no cluster is called nowhere")],
    "copyUser": [
        Bad("-f {broker} -t {master} -u nobody -p x", 1, "USER_NOT_EXIST (3001): no user is called nobody"),
        Bad("-f {broker} -t {master} -u , -p x", 2, "names separated by commas expected"),
    ],
    "createAcl": [
        Bad("-b {broker} -s nobody -r Topic:x -a Pub", 1, "nobody"),
        Bad(
            "-b {broker} -s administrator -r Planet:x -a Pub",
            1,
            "the resource type 'Planet' is none of Cluster, Topic, Group, *",
        ),
        Bad("-b {broker} -s administrator -r Topic:x -a Fly", 1, "Fly"),
        Bad("-b {broker} -s administrator -r Topic:x -a Pub -d Maybe", 2, "invalid choice: 'Maybe'"),
    ],
    "updateAcl": [Bad("-b {broker} -s nobody -r Topic:x -a Pub", 1, "nobody")],
    "deleteAcl": [Bad("-c nowhere -s nobody", 1, "no cluster is called nowhere")],
    "getAcl": [Bad("-b {broker} -s nobody", 1, "nobody")],
    "listAcl": [Bad("-c nowhere", 1, "no cluster is called nowhere")],
    "copyAcl": [Bad("-f {broker} -t {master} -s nobody", 1, "POLICY_NOT_EXIST (3002): User:nobody")],
}
