"""The vocabulary of JIL: subcommands, the attributes of each object type, and their notations.

An unknown name is kept as an attribute at the start of a line, and is text elsewhere.
"""

import re
from functools import cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LIKE_A_SUBCOMMAND = re.compile(r"(insert|update|delete|override|rename|modify)_([a-z]\w*)", re.ASCII)
_KINDS = {
    "insert": "job machine resource glob xinst blob monbro job_type connectionprofile view filter "
    "alert_policy user",
    "update": "job machine resource glob xinst blob monbro job_type connectionprofile",
    "delete": "job box machine resource glob xinst blob monbro job_type connectionprofile view filter "
    "alert_policy user",
    "override": "job",
    "rename": "job",
    "modify": "view filter alert_policy",
}
SUBCOMMANDS: dict[str, tuple[str, str]] = {
    f"{action}_{kind}": (action, kind) for action, kinds in _KINDS.items() for kind in kinds.split()
}


def subcommand(word: str) -> tuple[str, str] | None:
    """Return action and kind of a word that begins a statement; unknown ones are recognised by their prefix."""
    word = word.lower()
    known = SUBCOMMANDS.get(word)
    if known is not None:
        return known
    found = _LIKE_A_SUBCOMMAND.fullmatch(word)
    return (found[1], found[2]) if found is not None else None


# Attributes of a job, whatever its type; the long list comes first.
_JOB = """
    job_type box_name machine owner permission command condition description profile envvars shell ulimit elevated
    application group priority job_load job_class auto_delete auto_hold status job_terminator box_terminator
    box_success box_failure date_conditions days_of_week start_times start_mins run_calendar exclude_calendar
    run_window timezone must_start_times must_complete_times max_run_alarm min_run_alarm term_run_time avg_runtime
    alarm_if_fail alarm_if_terminated n_retrys max_exit_success success_codes fail_codes condition_code std_in_file
    std_out_file std_err_file chk_files resources interactive send_notification notification_id notification_msg
    notification_emailaddress notification_alarm_types notification_template notification_emailaddress_on_alarm
    notification_emailaddress_on_failure notification_emailaddress_on_success
    notification_emailaddress_on_terminated service_desk svcdesk_attr svcdesk_desc svcdesk_imp svcdesk_pri
    svcdesk_sev heartbeat_interval external_os_user os_user run_external request_id time_zone agent_name
    avg_run_time override user_field auto_restart watch_file watch_file_type watch_file_min_size
    watch_file_change_type watch_file_change_value watch_file_owner watch_file_groupname watch_file_recursive
    watch_file_win_user watch_interval watch_no_change continuous text_file_filter text_file_filter_exists
    text_file_mode text_file_name time_format time_position lower_boundary upper_boundary cpu_usage disk_drive
    disk_format disk_space inside_range no_change poll_interval process_name process_status ip_host ip_port
    ip_status monitor_cond monitor_mode monitor_type win_event_category win_event_computer win_event_datetime
    win_event_description win_event_id win_event_op win_event_source win_event_type win_log_name win_service_name
    win_service_status connect_string sql_command sp_name sp_arg dbtype result_type tablename trigger_cond
    trigger_type user_role destination_file success_criteria success_criteria_json success_criteria_regex
    success_criteria_value success_criteria_xpath success_pattern ftp_compression ftp_local_name ftp_local_user
    ftp_remote_name ftp_server_name ftp_server_port ftp_transfer_direction ftp_transfer_type ftp_use_SSL
    ftp_user_type scp_create_targetdir scp_delete_sourcedir scp_delete_sourcefile scp_local_name scp_local_user
    scp_protocol scp_remote_dir scp_remote_name scp_rename_sourcefile scp_server_name scp_server_port scp_target_os
    scp_transfer_direction scp_transfer_mode URL WSDL_URL endpoint_URL web_parameter web_user form_parameter
    header_filter headers filter filter_type encoding media_type output_var payload_uri persist_output_cookies
    persist_output_header persist_output_payload input_cookies preemptive_authentication one_way port_name
    return_class_name return_namespace return_xml_name service_name soap_action soap_version target_namespace
    wsdl_operation ws_authentication_order ws_conn_domain ws_conn_origin ws_conn_user ws_global_proxy_defaults
    ws_parameter ws_proxy_domain ws_proxy_host ws_proxy_origin ws_proxy_port ws_proxy_user ws_security bean_name
    class_name connection_factory create_method create_name create_parameter destination_name finder_name
    finder_parameter initial_context_factory invocation_type j2ee_authentication_order j2ee_conn_domain
    j2ee_conn_origin j2ee_conn_user j2ee_no_global_proxy_defaults j2ee_parameter j2ee_proxy_domain j2ee_proxy_host
    j2ee_proxy_origin_host j2ee_proxy_port j2ee_proxy_user j2ee_user jmx_parameter jmx_user mbean_attr mbean_name
    mbean_operation message_class method_name modify_parameter operation_type provider_url remote_name reply_to
    correlation_id use_topic i5_action i5_cc_exit i5_curr_lib i5_job_desc i5_job_name i5_job_queue i5_lda i5_lib
    i5_library_list i5_name i5_others i5_params i5_process_priority spool_file zos_dataset zos_dsn_renamed
    zos_dsn_updated zos_explicit_dsn zos_ftp_direction zos_ftp_host zos_ftp_userid zos_jobname zos_trigger_by
    zos_trigger_on zos_trigger_type copy_jcl jcl_library jcl_member auth_string informatica_folder_name
    informatica_param_file informatica_pass_on_success informatica_repository_name informatica_security_domain
    informatica_target_name informatica_task_name informatica_user informatica_workflow_inst_name
    informatica_workflow_name mf_jcl_name mf_jcl_type mf_server mf_server_address_type mf_user mf_version
    oracle_appl_name oracle_appl_name_type oracle_args oracle_custom_property oracle_desc oracle_mon_children
    oracle_mon_children_delay oracle_notify_display_users oracle_notify_users oracle_oprunit oracle_output_format
    oracle_print_copies oracle_print_style oracle_printer oracle_program oracle_program_name_type oracle_programdata
    oracle_quote_in_default oracle_req_set oracle_req_set_type oracle_resp oracle_save_output
    oracle_template_language oracle_template_name oracle_template_territory oracle_use_arg_def
    oracle_use_set_defaults_first oracle_user ps_args ps_dest_format ps_dest_type ps_detail_folder ps_dlist_roles
    ps_dlist_users ps_email_address ps_email_address_expanded ps_email_log ps_email_subject ps_email_text
    ps_email_web_report ps_operator_id ps_output_dest ps_process_name ps_process_type ps_restarts ps_run_cntrl_args
    ps_run_cntrl_id ps_run_control_table ps_server_name ps_skip_parm_updates ps_time_zone pa_monitor_progress
    pa_name pa_parameter pa_path pa_trace remote_command remote_target sqlagent_domain_name sqlagent_jobid
    sqlagent_jobname sqlagent_server_name sqlagent_step_name sqlagent_target_db sqlagent_user_name search_bw
    sap_abap_name sap_chain_id sap_client sap_ext_table sap_fail_msg sap_info_pack sap_job_class sap_job_count
    sap_job_name sap_lang sap_mon_child sap_office sap_print_parms sap_proc_type sap_process_client
    sap_process_status sap_recipients sap_release_option sap_rfc_dest sap_step_num sap_step_parms sap_success_msg
    sap_target_jobname sap_target_sys arc_obj_name arc_obj_variant arc_parms bdc_err_rate bdc_ext_log bdc_proc_rate
    bdc_system submit_modifier results_file results_file_overwrite snmp_auth_protocol snmp_comm_string
    snmp_context_engine_id snmp_context_name snmp_host snmp_mib snmp_oid snmp_privacy snmp_privacy_user snmp_subtree
    snmp_table_view snmp_value snmp_version broadcast_address mac_address ping_ports ping_timeout wake_password
    connection_retry connection_timeout retry_on_failure_count retry_on_failure_delay retry_on_failure_details
    blob_input blob_file blob_type blob_name blob_mode new_name
"""
_OTHERS = {
    "machine": """type machine node_name agent_name port max_load factor opsys description key_to_agent encryption_type
        character_code heartbeat_attempts heartbeat_freq machine_method provision force remove_references""",
    "resource": "res_type amount machine description resource_name",
    "glob": "value type description global_name",
    "xinst": "xtype xmachine xport xmanager xcrypt_type xkey_to_manager xcomm_alias description",
    "job_type": "command description job_type_name",
    "monbro": """mode all_events all_status alarm alarm_verif job_filter job_name sound currun after_time starting
        running success failure terminated restart monbro_type monbro_name""",
}
# Attributes of every other kind of object, as far as encountered.
_REST = "description type name value text active severity url_name url_link connectionprofile_type status"

FREE_TEXT = _words("""
    command description notification_msg remote_command sql_command svcdesk_desc text ps_email_text oracle_desc
""")
"""Attributes whose value is prose or another language: a word with a colon in it is more likely theirs than JIL's."""

POSSIBLE_NAME = re.compile(r'(?:(?!/\*)[^\s"\\])+')
"""What JIL can name at all; Autosys itself takes fewer letters."""

CONDITIONS = ("condition", "box_success", "box_failure")
"""The attributes that hold conditions. The first decides when a job starts, the others how a box ends."""

ONE_WORD = _words("""
    job_type box_name machine owner permission date_conditions max_run_alarm min_run_alarm term_run_time avg_runtime
    alarm_if_fail alarm_if_terminated n_retrys max_exit_success priority job_load auto_delete auto_hold status
    box_terminator job_terminator run_calendar exclude_calendar timezone application group type node_name max_load
    factor amount res_type xtype xmachine xport send_notification service_desk watch_interval watch_file_min_size
    watch_file_type continuous blob_input heartbeat_interval interactive elevated condition_code
""")
"""Attributes whose value is one word, so that a line without a name below them is not a part of it."""

REPEATED = _words("""
    envvars notification_emailaddress notification_emailaddress_on_alarm notification_emailaddress_on_failure
    notification_emailaddress_on_success notification_emailaddress_on_terminated resources sp_arg ws_parameter
    web_parameter form_parameter headers j2ee_parameter jmx_parameter create_parameter finder_parameter
    modify_parameter pa_parameter sap_step_parms svcdesk_attr arc_parms informatica_param_file machine max_load
    factor dates
""")
"""Attributes that a statement may have more than once, each adding to the others."""


@cache
def attributes_of(kind: str) -> dict[str, str]:
    """Return every notation of an object kind's attributes, with the canonical one."""
    names = {"job": _JOB, "box": _JOB}.get(kind) or _OTHERS.get(kind) or f"{_REST} {_JOB}"
    known = {name: name for name in names.split()}
    return {**{name.lower(): name for name in known}, **known}
